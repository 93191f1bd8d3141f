"""The log of an installation as JSON lines: one object per stage of a run, and per session in need.

Counts, ids and reasons; never the words of a memory. Dagster's own log has every message; this file
is for ``grep`` and for log collectors, which want one shape and one place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from memory_assets.storage.files import make_folder, write_errors

Level = Literal["info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class RunLog:
    """Appends to ``<folder>/YYYY-MM.jsonl``; every line names its run."""

    folder: Path
    run_id: str

    def write(
        self,
        event: str,
        *,
        now: datetime,
        level: Level = "info",
        session: tuple[str, str] | None = None,
        fields: Mapping[str, Any] | None = None,
    ) -> None:
        """Appends one line. ``session`` is (tenant_id, session_id) when the line is about one.

        Raises:
            StoreWriteFailed: the log cannot be written.
        """
        row: dict[str, Any] = {
            "ts": now.isoformat(timespec="milliseconds"),
            "level": level,
            "event": event,
            "run_id": self.run_id,
        }
        if session is not None:
            row["tenant_id"], row["session_id"] = session
        row.update(fields or {})
        line = json.dumps(row, ensure_ascii=False, default=str) + "\n"
        make_folder(self.folder)
        path = self.folder / f"{now:%Y-%m}.jsonl"
        with write_errors(path), path.open("ab", buffering=0) as out:
            # One write of one line: lines of processes that log at once never mix.
            out.write(line.encode())
