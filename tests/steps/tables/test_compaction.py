"""Fewer parts, the same table."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import polars as pl
import pytest

from memory_assets.domain.schemas import DECIDED
from memory_assets.steps.tables.compaction import MAX_PARTS, compacted
from memory_assets.storage.parts import Part, PartStore


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> PartStore:
    return PartStore(tmp_path, remedy="")


def _part(store: PartStore, readings: dict[str, int], label: str) -> Part:
    part = store.write(DECIDED, DECIDED.frame([("t", s, n) for s, n in readings.items()]), label)
    assert part is not None
    return part


def _live(readings: dict[str, int]) -> pl.DataFrame:
    return DECIDED.frame([("t", s, n) for s, n in readings.items()])


def _rows(store: PartStore, parts: list[Part]) -> list[tuple[str, int]]:
    return store.read(DECIDED, parts, ["session_id", "ingest_no"]).rows()


def test_few_parts_stay_as_they_are(store: PartStore) -> None:
    """Up to the limit nothing is read or written."""
    parts = [_part(store, {"s": n}, str(n)) for n in range(MAX_PARTS)]
    assert compacted(store, DECIDED, parts, live=_live({}), label="x") == parts


def test_many_parts_become_one_without_replaced_rows(store: PartStore) -> None:
    """Of a session that was read every night only the newest reading is left."""
    parts = [_part(store, {"s": n, f"n{n}": n}, str(n)) for n in range(MAX_PARTS + 1)]
    live = {"s": MAX_PARTS} | {f"n{n}": n for n in range(MAX_PARTS + 1)}
    folded = compacted(store, DECIDED, parts, live=_live(live), label="x")
    assert len(folded) == 1
    assert sorted(_rows(store, folded)) == sorted(live.items())


def test_without_readings_every_row_stays_in_order(store: PartStore) -> None:
    """Append-only tables are folded the same way."""
    parts = [_part(store, {"s": n}, str(n)) for n in range(MAX_PARTS + 1)]
    folded = compacted(store, DECIDED, parts, label="x")
    assert _rows(store, folded) == _rows(store, parts)


def test_a_large_first_part_is_not_written_again(store: PartStore) -> None:
    """What is folded stays in proportion to what was added."""
    large = {sha256(b"%d" % n).hexdigest(): 1 for n in range(5_000)}
    first = _part(store, large, "0")
    parts = [first, *(_part(store, {"s": n}, str(n)) for n in range(1, MAX_PARTS + 2))]
    folded = compacted(store, DECIDED, parts, live=_live(large | {"s": MAX_PARTS + 1}), label="x")
    assert folded[0] == first
    assert len(folded) == 2
    assert _rows(store, folded[1:]) == [("s", MAX_PARTS + 1)]


def test_a_tail_of_replaced_rows_vanishes(store: PartStore) -> None:
    """Nothing is left to write."""
    parts = [_part(store, {"s": n}, str(n)) for n in range(MAX_PARTS + 1)]
    assert compacted(store, DECIDED, parts, live=_live({}), label="x") == []
