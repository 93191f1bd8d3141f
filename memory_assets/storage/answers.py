"""Answers of extraction models, kept for good: a rebuild asks nothing and gives the same facts."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from memory_assets.storage.files import write_atomically

Source = tuple[str, str, int]
"""(tenant_id, session_id, decision_seq) of the row whose text was asked about."""


class AnswerStore:
    """One small file per answer, named by the key of its question."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def get(self, key: str) -> str | None:
        """The answer as it came, or None; a file that is damaged counts as none."""
        found = _load(self._path(key))
        answer = found.get("answer") if found.get("key") == key else None
        return answer if isinstance(answer, str) else None

    def put(self, key: str, answer: str, *, source: Source, extractor: str) -> None:
        """Keeps an answer.

        Raises:
            StoreWriteFailed: it cannot be written.
        """
        tenant_id, session_id, decision_seq = source
        body = {
            "key": key,
            "tenant_id": tenant_id,
            "session_id": session_id,
            "decision_seq": decision_seq,
            "extractor": extractor,
            "answer": answer,
        }
        write_atomically(self._path(key), json.dumps(body, sort_keys=True).encode())

    def forget(self, keys: Collection[str]) -> int:
        """Count of answers deleted, by key: they are asked for again."""
        there = [p for p in map(self._path, keys) if p.exists()]
        for path in there:
            path.unlink(missing_ok=True)
        return len(there)

    def forget_sources(self, sources: Collection[Source]) -> int:
        """Count of answers deleted that were given about these rows."""
        wanted = set(sources)
        gone = 0
        for path in sorted(self.root.glob("*/*.json")) if wanted else ():
            found = _load(path)
            source = (found.get("tenant_id"), found.get("session_id"), found.get("decision_seq"))
            if source in wanted:
                path.unlink(missing_ok=True)
                gone += 1
        return gone

    def _path(self, key: str) -> Path:
        return self.root / key[:2] / f"{key}.json"


def _load(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
