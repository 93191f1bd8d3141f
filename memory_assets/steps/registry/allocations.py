"""Keeps the allocation log in line with the published registry, by comparing tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

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
        lines = read_allocations(home)
        buried = _keys([line for line in lines if line.kind == "buried"])
        fresh = [*_lines(registry, _keys(lines), buried), *_detached(registry, lines)]
        append_allocations(home, fresh)
    return len(fresh)


def _detached(registry: RegistryView, lines: Sequence[Allocation]) -> Iterator[Allocation]:
    """The lines of corroborations that were detached since: each is the memory that it became.

    A rebuild promotes it as such, together with what corroborates it in its turn.
    """
    if registry.detachments.is_empty():
        return
    known = in_force(lines)
    made = registry.memories.join(registry.detachments, on=PROMOTION_KEY, how="semi")
    columns = (*PROMOTION_KEY, "memory_id", "origin", "verdict_by")
    for row in made.select(columns).sort(PROMOTION_KEY).iter_rows(named=True):
        new = Allocation(kind="memory", **row)
        line = known.get(new.key)
        if line is not None and line.kind == "duplicate":
            yield new


def _keys(lines: Sequence[Allocation]) -> pl.DataFrame:
    """The keys as a table: registries are long, and hardly a row of one is new."""
    columns = {name: [getattr(line, name) for line in lines] for name in PROMOTION_KEY}
    schema = dict.fromkeys(PROMOTION_KEY, pl.String) | dict.fromkeys(PROMOTION_KEY[2:], pl.Int64)
    return pl.DataFrame(columns, schema=schema)


def _lines(
    registry: RegistryView, known: pl.DataFrame, buried: pl.DataFrame
) -> Iterator[Allocation]:
    def missing(rows: pl.DataFrame, recorded: pl.DataFrame) -> pl.DataFrame:
        return rows.join(recorded, on=PROMOTION_KEY, how="anti").sort(PROMOTION_KEY)

    memories = registry.memories.select(*PROMOTION_KEY, "memory_id", "origin", "verdict_by")
    for row in missing(memories, known).iter_rows(named=True):
        yield Allocation(kind="memory", **row)
    evidence = ("kind", "cosine", "space_id", "guards", "rule_version", "verdict_by")
    seen = registry.corroborations.select(*PROMOTION_KEY, "memory_id", *evidence)
    for row in missing(seen, known).iter_rows(named=True):
        yield Allocation(**row)
    gone = registry.tombstones.select(*PROMOTION_KEY, "memory_id", "reason")
    for row in missing(gone, buried).iter_rows(named=True):
        yield Allocation(kind="buried", **row)
