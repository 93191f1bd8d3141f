"""The registry made again from what people and agents wrote, in a home of its own."""

from __future__ import annotations

import shutil
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from memory_assets.domain.allocations import Allocation, Allocations, in_force, missing
from memory_assets.domain.intents import (
    Detach,
    ImportMemory,
    Intent,
    Redacted,
    RemovalReason,
    Remove,
)
from memory_assets.domain.schemas import PROMOTION_KEY
from memory_assets.embedding.cache import VECTORS, copy_vectors
from memory_assets.errors import UsageError
from memory_assets.pipeline.workspace import Workspace
from memory_assets.storage.allocations import read_allocations
from memory_assets.storage.home import Home
from memory_assets.storage.intents import append_intents, read_intents

SHOWN: Final = 50
_KEPT: Final = (
    "tenants.toml",
    "settings.toml",
    "review",
    "answers",
    "receipts",
    "access",
    "probes",
)
"""What people wrote or paid for; everything else is made again."""


@dataclass(frozen=True, slots=True)
class RebuildResult:
    """What the new home holds, and what of the old one it cannot answer for."""

    home: Path
    generation: int
    memories: int
    corroborations: int
    lost: tuple[Allocation, ...]
    """On record, but their ledger or their edit is gone."""

    def to_dict(self) -> dict[str, Any]:
        """The result as ``--json`` prints it."""
        return {
            "home": str(self.home),
            "generation": self.generation,
            "memories": self.memories,
            "corroborations": self.corroborations,
            "lost": len(self.lost),
            "lost_memories": [
                {"tenant_id": a.tenant_id, "session_id": a.session_id, "memory_id": a.memory_id}
                for a in self.lost[:SHOWN]
            ],
        }


def rebuild(old: Workspace, target: Path, *, run_id: str, now: datetime) -> RebuildResult:
    """The registry and its index, made in ``target`` without a look at the old registry.

    From ledgers with their companions, review decisions, extractor answers, intents and the
    allocation log: the same ids, content, verdicts, replacements and retirements. Generation
    numbers begin anew. The old home is only read; put the new one in its place when it is as it
    should be.

    Raises:
        UsageError: the target is not empty, or there is no allocation log.
    """
    allocations = in_force(read_allocations(old.home))
    _check(old.home, target, has_log=bool(allocations))
    for name in _KEPT:
        _copy(old.home.root / name, target / name)
    flags = {"ledgers": str(old.settings.ledgers), "embedding": old.settings.text("embedding")}
    new = Workspace.load(home=str(target), **flags)
    _keep_vectors(old.home, new.home)
    first, last = _intents(old.home, allocations, now)
    append_intents(new.home, first)
    new.publish(run_id=run_id, now=now)
    new.ingest()
    new.decide()
    new.extract(now=now)
    new.publish(run_id=run_id, now=now, allocations=allocations)
    append_intents(new.home, last, after=new.generations.current()[0].intents_through)
    done = new.publish(run_id=run_id, now=now)
    new.derive_candidates(now=now)
    registry = new.registry()
    settled = registry.settled_keys().select(PROMOTION_KEY).rows()
    return RebuildResult(
        target,
        done.generation,
        registry.memories.height,
        registry.corroborations.height,
        tuple(missing(allocations, settled)),
    )


def _check(old: Home, target: Path, *, has_log: bool) -> None:
    if target.exists() and any(target.iterdir()):
        raise UsageError(
            "A rebuild needs a folder of its own, and this one is not empty.",
            where=str(target),
            remedy="name a new folder with --into.",
        )
    if not has_log:
        raise UsageError(
            "There is no allocation log, so memories would get other ids than they had.",
            where=str(old.allocations),
            remedy="restore allocations.jsonl from a backup. A home without any memories needs no "
            "rebuild: delete its folder derived/ and run the nightly job.",
        )


def _keep_vectors(old: Home, new: Home) -> None:
    """No text is embedded, or paid for, a second time; nor are models known by other names."""
    copy_vectors(old.cache / VECTORS, new.cache / VECTORS)
    for name in ("probes", "fingerprints"):
        _copy(old.cache / name, new.cache / name)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target)
    elif source.exists():
        shutil.copy2(source, target)


def _intents(
    home: Home, allocations: Allocations, now: datetime
) -> tuple[list[Intent], list[Intent]]:
    """What must come before the promotions (imports, burials), and what after them, in order."""
    recorded = [r.intent for r in read_intents(home).recorded]
    buried: dict[tuple[str, RemovalReason], list[tuple[str, int, int]]] = defaultdict(list)
    for line in allocations.values():
        if line.kind == "buried":
            reason: RemovalReason = (
                "legacy cleanup" if line.reason == "legacy cleanup" else "erasure"
            )
            buried[line.tenant_id, reason].append(
                (line.session_id, line.decision_seq, line.fact_no)
            )
    first: list[Intent] = [i for i in recorded if isinstance(i, ImportMemory)]
    for (tenant, reason), keys in sorted(buried.items()):
        first.append(
            Remove(
                tenant_id=tenant,
                decided_by="rule rebuild 1",
                decided_at=now,
                keys=tuple(sorted(keys)),
                removal=reason,
            )
        )
    done = ImportMemory | Remove | Redacted
    return first, [
        i for i in recorded if not isinstance(i, done) and not _is_on_record(i, allocations)
    ]


def _is_on_record(intent: Intent, allocations: Allocations) -> bool:
    """Whether it is a detachment that is done: what it made is promoted under the id that it got.

    Done again after the promotions it would come too late for what corroborates that memory, and
    for its number.
    """
    if not isinstance(intent, Detach):
        return False
    key = (intent.tenant_id, intent.session_id, intent.decision_seq, intent.fact_no)
    line = allocations.get(key)
    return line is not None and line.kind != "duplicate"
