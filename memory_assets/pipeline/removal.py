"""What a removal must still take away once registry and index are free of it."""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from memory_assets.domain.intents import MemoryKey, Recorded, Redacted, Remove, named_memories
from memory_assets.domain.ports import VectorCache
from memory_assets.domain.spaces import definition_text, search_text, text_sha256
from memory_assets.pipeline.registry_view import RegistryView
from memory_assets.storage.home import Home
from memory_assets.storage.intents import rewrite_intents
from memory_assets.storage.parts import DerivedTables

_ID = ["tenant_id", "memory_id"]


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


def scrub(home: Home, derived: DerivedTables, tombstones: pl.DataFrame) -> None:
    """Takes what is buried out of the files beside the registry; a second time changes nothing."""
    buried = set(tombstones.drop_nulls("memory_id").select(_ID).rows())

    def redact(line: Recorded) -> Recorded:
        intent = line.intent
        if isinstance(intent, Remove | Redacted) or buried.isdisjoint(named_memories(intent)):
            return line
        blank = Redacted(
            tenant_id=intent.tenant_id, decided_by=intent.decided_by, decided_at=intent.decided_at
        )
        return Recorded(line.no, blank)

    rewrite_intents(home, redact)
