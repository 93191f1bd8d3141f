"""Parquet parts and the heads that list them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import polars as pl
import pytest

from memory_assets.domain.schemas import CORROBORATIONS, DECIDED, QUARANTINE, Column, TableSpec
from memory_assets.errors import CorruptStore
from memory_assets.storage.parts import DerivedTables, Part, PartStore

GROUP = "g"


def _frame(*numbers: int) -> pl.DataFrame:
    return DECIDED.frame([("t", f"s{n}", n) for n in numbers])


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> PartStore:
    return PartStore(tmp_path, remedy="restore it")


def _written(store: PartStore, *numbers: int, label: str = "1") -> Part:
    part = store.write(DECIDED, _frame(*numbers), label)
    assert part is not None
    return part


def test_a_part_comes_back_in_the_order_of_the_list(store: PartStore) -> None:
    """Rows, schema, hash and size are what was written."""
    one, two = _written(store, 3, 1), _written(store, 2)
    found = store.read(DECIDED, [two, one])
    assert found["ingest_no"].to_list() == [2, 3, 1]
    assert found.schema == DECIDED.schema
    assert store.read(DECIDED, [one], ["session_id"]).to_dict(as_series=False) == {
        "session_id": ["s3", "s1"]
    }
    data = (store.root / one.path).read_bytes()
    assert (one.rows, one.bytes, one.sha256) == (2, len(data), hashlib.sha256(data).hexdigest())
    assert Part(**one.to_dict()) == one


def test_a_frame_without_rows_is_no_part(store: PartStore) -> None:
    """And a table without parts is empty, with its schema."""
    assert store.write(DECIDED, DECIDED.empty(), "1") is None
    assert store.read(DECIDED, []).schema == DECIDED.schema
    assert store.read(DECIDED, [], ["session_id"]).columns == ["session_id"]


def test_the_same_rows_give_the_same_file(store: PartStore, tmp_path: Path) -> None:
    """Written twice it is one file; in another folder it has the same bytes and name."""
    one, again = _written(store, 1, 2), _written(store, 1, 2)
    assert one == again
    assert len(list((tmp_path / "decided").iterdir())) == 1
    other = PartStore(tmp_path / "other", remedy="")
    assert _written(other, 1, 2) == one


def test_columns_are_put_in_order_and_cast(store: PartStore) -> None:
    """A frame from a query may hold more, in another order, in narrower types."""
    frame = _frame(1).select(pl.lit(0).alias("more"), "ingest_no", "session_id", "tenant_id")
    part = store.write(DECIDED, frame.cast({"ingest_no": pl.Int8}), "1")
    assert part is not None
    assert store.read(DECIDED, [part]).equals(_frame(1))


def test_verify_finds_a_changed_and_a_missing_part(store: PartStore) -> None:
    """The message names the file and the way out."""
    part = _written(store, 1)
    store.verify([part])
    path = store.root / part.path
    data = bytearray(path.read_bytes())
    data[10] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptStore, match="differs") as caught:
        store.verify([part])
    assert (caught.value.where, caught.value.remedy) == (str(path), "restore it")
    path.unlink()
    with pytest.raises(CorruptStore, match="cannot be read"):
        store.verify([part])


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "other"])
def test_reading_a_damaged_part_is_a_named_error(store: PartStore, damage: str) -> None:
    """Foreign exceptions of the Parquet reader do not come through."""
    part = _written(store, 1, 2, 3)
    path = store.root / part.path
    data = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes({"empty": b"", "cut": data[: len(data) // 2], "other": b"x" * 99}[damage])
    with pytest.raises(CorruptStore) as caught:
        store.read(DECIDED, [part])
    assert caught.value.where == str(path)


def test_a_checked_store_gives_no_row_of_a_part_that_was_changed(tmp_path: Path) -> None:
    """Whichever byte was flipped, alone or beside a sound part; others may decode to other rows."""
    store = PartStore(tmp_path, remedy="restore it", checked=True)
    sound, part = _written(store, 7), _written(store, *range(60))
    assert store.read(DECIDED, [sound, part])["ingest_no"].to_list() == [7, *range(60)]
    path = store.root / part.path
    data = path.read_bytes()
    silent = 0
    for place in range(4, len(data), 29):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        for listed in ([part], [sound, part]):
            with pytest.raises(CorruptStore, match="differs") as caught:
                store.read(DECIDED, listed)
            assert caught.value.where == str(path)
        silent += _decodes(tmp_path, part)
    assert silent > 0, "no flip was readable, so this test would pass without the check"


def _decodes(root: Path, part: Part) -> bool:
    try:
        PartStore(root, remedy="").read(DECIDED, [part])
    except CorruptStore:
        return False
    return True


def test_odd_texts_and_bytes_survive(store: PartStore) -> None:
    """Quarantine holds whatever bytes a line had."""
    raw = bytes(range(256)) * 3
    row = ("t", "s", 1, "f", "ledger", 1, 0, "c", "\u202e\U0001f469\u200d\u2695 \ufeff", raw)
    part = store.write(QUARANTINE, QUARANTINE.frame([row]), "1")
    assert part is not None
    assert store.read(QUARANTINE, [part]).row(0) == row


def _commit(tables: DerivedTables, *numbers: int) -> Part:
    part = _written(tables.parts, *numbers, label=str(numbers[0]))
    tables.commit(GROUP, {"decided": [part]}, {"no": numbers[0]})
    return part


def test_a_commit_is_the_groups_state(tmp_path: Path) -> None:
    """Before the first one the group is empty; another group is another state."""
    tables = DerivedTables(tmp_path)
    assert tables.read(GROUP, DECIDED).equals(DECIDED.empty())
    assert (tables.head(GROUP), tables.info(GROUP)) == ({}, {})
    _commit(tables, 1, 2)
    other = DerivedTables(tmp_path)
    assert other.read(GROUP, DECIDED).equals(_frame(1, 2))
    assert other.info(GROUP) == {"no": 1}
    assert other.read("another", DECIDED).is_empty()


def test_parts_are_removed_when_no_head_of_the_last_two_lists_them(tmp_path: Path) -> None:
    """A reader that read the head before the last commit still finds its files."""
    tables = DerivedTables(tmp_path)
    parts = [_commit(tables, n) for n in (1, 2, 3, 4)]
    there = [(tmp_path / p.path).exists() for p in parts]
    assert there == [False, False, True, True]
    assert tables.read(GROUP, DECIDED).equals(_frame(4))


def test_a_part_that_stays_listed_is_never_removed(tmp_path: Path) -> None:
    """Also when it leaves the head and comes back."""
    tables = DerivedTables(tmp_path)
    kept = _written(tables.parts, 1)
    for n in range(5):
        tables.commit(GROUP, {"decided": [kept] if n != 2 else []})
    assert tables.read(GROUP, DECIDED).equals(_frame(1))


def test_a_crash_before_the_commit_leaves_the_old_state(tmp_path: Path) -> None:
    """Parts that nobody lists are no rows."""
    tables = DerivedTables(tmp_path)
    _commit(tables, 1)
    _written(tables.parts, 2)
    (tmp_path / "decided" / ".part-x.parquet.1.tmp").write_bytes(b"half")
    assert DerivedTables(tmp_path).read(GROUP, DECIDED).equals(_frame(1))


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[]", b'{"tables": {"decided": [{}]}}'])
def test_an_unreadable_head_is_a_named_error(tmp_path: Path, data: bytes) -> None:
    """The remedy says that derived tables may be deleted."""
    (tmp_path / "g.json").write_bytes(data)
    with pytest.raises(CorruptStore, match=f"delete the folder {tmp_path}"):
        DerivedTables(tmp_path).read(GROUP, DECIDED)


def test_a_part_of_an_earlier_version_may_lack_a_nullable_column(store: PartStore) -> None:
    """It is null in those rows, with a filter too; a column that must be there makes it corrupt."""
    older = TableSpec(CORROBORATIONS.name, "", CORROBORATIONS.columns[:-1])
    row: dict[str, object] = {
        c.name: [] if c.dtype == pl.List(pl.String) else None for c in older.columns
    }
    frame = pl.DataFrame([row], schema=older.schema)
    parts = [store.write(older, frame, "1"), store.write(CORROBORATIONS, _whole(frame), "2")]
    listed = [part for part in parts if part is not None]
    found = store.read(CORROBORATIONS, listed)
    assert found.schema == CORROBORATIONS.schema
    assert found["metadata"].to_list() == [None, "{}"]
    assert store.read(CORROBORATIONS, listed, where=pl.col("metadata").is_null()).height == 1
    needed = Column("needed", pl.Int64, "")
    newer = TableSpec(older.name, "", (*older.columns, needed))
    with pytest.raises(CorruptStore):
        store.read(newer, listed)


def _whole(older: pl.DataFrame) -> pl.DataFrame:
    return older.with_columns(metadata=pl.lit("{}"))
