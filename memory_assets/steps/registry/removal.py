"""What a removal must still take away once registry and index are free of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import polars as pl

from memory_assets.domain.intents import MemoryKey, Recorded, Redacted, Remove, named_memories
from memory_assets.domain.keys import MEMORY_ID
from memory_assets.domain.ports import VectorCache
from memory_assets.domain.schemas import PROMOTION_KEY
from memory_assets.domain.spaces import definition_text, search_text, text_sha256
from memory_assets.steps.registry.view import RegistryView, frame_of_keys
from memory_assets.steps.tables.blanking import blanked
from memory_assets.storage.answers import AnswerStore
from memory_assets.storage.home import Home
from memory_assets.storage.intents import rewrite_intents
from memory_assets.storage.locks import exclusive
from memory_assets.storage.parts import DerivedTables
from memory_assets.storage.redaction import drop_lines

_ID = ["tenant_id", "memory_id"]


@dataclass(frozen=True, slots=True)
class ScrubResult:
    """What was taken out of the files beside the registry."""

    lines: int
    """Lines of intents, review files and access log."""
    derived_tables: int


def forget_texts(cache: VectorCache, before: RegistryView, removed: Collection[MemoryKey]) -> int:
    """Count of cached vectors deleted: those of the texts of removed memories, in both recipes.

    It runs before the commit, while the texts can be read; a cache may lose more than it must.
    """
    gone = pl.DataFrame(list(removed), schema=dict.fromkeys(_ID, pl.String), orient="row")
    keys: set[str] = set()
    for frame in (before.memories, before.corroborations):
        for row in frame.join(gone, on=_ID, how="semi").iter_rows(named=True):
            keys.add(text_sha256(definition_text(subject=row["subject"], detail=row["detail"])))
            content = {
                name: row[name]
                for name in ("type", "subject", "detail", "rationale", "question_context")
            }
            text = search_text(**content, concepts=row["concepts"], tables=row["tables"])
            keys.add(text_sha256(text))
    return cache.delete(sorted(keys))


def scrub(home: Home, derived: DerivedTables, tombstones: pl.DataFrame) -> ScrubResult:
    """What was taken out of the files beside the registry; a second time finds nothing.

    It goes by the tombstones alone, so that a run that was killed can be ended by the next one.

    Raises:
        StoreWriteFailed: a file cannot be written.
    """
    memories = set(tombstones.drop_nulls("memory_id").select(_ID).rows())
    keys = set(tombstones.select(PROMOTION_KEY).rows())

    def redact(line: Recorded) -> Recorded:
        intent = line.intent
        if isinstance(intent, Remove | Redacted) or memories.isdisjoint(named_memories(intent)):
            return line
        blank = Redacted(
            tenant_id=intent.tenant_id, decided_by=intent.decided_by, decided_at=intent.decided_at
        )
        return Recorded(line.no, blank)

    def names(row: Mapping[str, object]) -> bool:
        tenant = row.get("tenant_id")
        named = {row.get(name) for name in ("memory_id", "memory_a", "memory_b")}
        named |= {f"mem-{n}" for n in MEMORY_ID.findall(str(row.get("proposal", "")))}
        key = tuple(row.get(name, 0 if name == "fact_no" else None) for name in PROMOTION_KEY)
        return key in keys or any((tenant, memory) in memories for memory in named)

    lines = rewrite_intents(home, redact)
    for folder in (home.review_decisions.parent, home.access_log):
        lines += sum(drop_lines(path, names) for path in sorted(folder.rglob("*.jsonl")))
    lines += AnswerStore(home.answers).forget_sources({key[:3] for key in keys})
    with exclusive(home.derived_lock, purpose="redacting derived tables", wait=True):
        buried = frame_of_keys(keys)
        tables = derived.rewrite(lambda spec, frame: blanked(spec, frame, buried))
    return ScrubResult(lines, tables)
