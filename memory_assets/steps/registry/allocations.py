"""Keeps the allocation log in line with the published registry, by comparing tables."""

from __future__ import annotations

from collections.abc import Iterator

from memory_assets.domain.allocations import Allocation, in_force
from memory_assets.domain.schemas import PROMOTION_KEY
from memory_assets.steps.registry.view import RegistryView
from memory_assets.storage.allocations import append_allocations, read_allocations
from memory_assets.storage.home import Home
from memory_assets.storage.locks import exclusive


def record_allocations(home: Home, registry: RegistryView) -> int:
    """Count of lines that were missing and are on record now.

    State-based: a crash between publication and this leaves lines missing until the next call.

    Raises:
        StoreWriteFailed, CorruptStore: the log cannot be written or read.
    """
    with exclusive(home.allocations_lock, purpose="recording allocations", wait=True):
        known = in_force(read_allocations(home))
        fresh = [
            line
            for line in _lines(registry)
            if line.key not in known or (line.kind == "buried" and known[line.key].kind != "buried")
        ]
        append_allocations(home, fresh)
    return len(fresh)


def _lines(registry: RegistryView) -> Iterator[Allocation]:
    memories = registry.memories.select(*PROMOTION_KEY, "memory_id", "origin", "verdict_by")
    for row in memories.sort(PROMOTION_KEY).iter_rows(named=True):
        yield Allocation(kind="memory", **row)
    evidence = ("kind", "cosine", "space_id", "guards", "rule_version", "verdict_by")
    seen = registry.corroborations.select(*PROMOTION_KEY, "memory_id", *evidence)
    for row in seen.sort(PROMOTION_KEY).iter_rows(named=True):
        yield Allocation(**row)
    buried = registry.tombstones.select(*PROMOTION_KEY, "memory_id", "reason")
    for row in buried.sort(PROMOTION_KEY).iter_rows(named=True):
        yield Allocation(kind="buried", **row)
