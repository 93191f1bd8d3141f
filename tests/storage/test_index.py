"""The search index against a real LanceDB: what a sync leaves, and what it costs."""

from __future__ import annotations

import multiprocessing
from multiprocessing.synchronize import Barrier
from pathlib import Path

import lance
import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pytest

from memory_assets.domain.spaces import EmbeddingSpace
from memory_assets.domain.text import fold_query
from memory_assets.errors import IndexMismatch
from memory_assets.storage.index import SpaceIndex, SyncResult
from memory_assets.storage.index_schema import equals, index_schema
from tests.storage.index_samples import DIMENSION, SPACE, Source, row, source, unit


def keys(index: SpaceIndex) -> list[str]:
    return sorted(index.pin(index.version).keys()["row_key"].to_list())


def texts(index: SpaceIndex, query: str) -> list[str]:
    pinned = index.pin(index.version)
    return pinned.text_search(fold_query(query), 100)["row_key"].to_list()


def sync(index: SpaceIndex, wanted: Source, optimize_at: float | None = 0.2) -> SyncResult:
    return index.sync(wanted.target, wanted.rows_for, optimize_at=optimize_at)


@pytest.fixture
def index(tmp_path: Path) -> SpaceIndex:
    return SpaceIndex.open(tmp_path / "index", SPACE)


def test_sync_into_an_empty_table_then_changes_only_what_differs(index: SpaceIndex) -> None:
    """New rows go in, changed ones are replaced, missing ones go; only those are fetched."""
    first = sync(index, source(1, 2, 3))
    assert (first.inserted, first.updated, first.deleted, first.rows) == (3, 0, 0, 3)
    wanted = Source([row(2), row(3, detail="changed"), row(4)])
    second = sync(index, wanted)
    assert (second.inserted, second.updated, second.deleted, second.rows) == (1, 1, 1, 3)
    assert wanted.asked == ["ws/mem-0003", "ws/mem-0004"]
    assert index.pin(second.version).fetch(["ws/mem-0003"])["detail"].to_list() == ["changed"]
    assert index.pin(first.version).fetch(["ws/mem-0003"])["detail"].to_list() != ["changed"]


def test_sync_without_a_difference_makes_no_version(index: SpaceIndex) -> None:
    """A table that is right stays at its version, through this handle and a new one."""
    done = sync(index, source(1, 2))
    wanted = source(1, 2)
    assert sync(index, wanted).version == done.version
    again = SpaceIndex.open(index.index_dir, SPACE)
    assert sync(again, wanted).version == done.version
    assert wanted.asked == []


def test_sync_of_nothing_into_an_empty_table(index: SpaceIndex) -> None:
    """An empty registry is an index without rows, which can be searched."""
    done = sync(index, Source([]))
    assert (done.rows, done.version) == (0, 1)
    assert texts(index, "ablazione") == []
    assert index.pin(1).vector_search(_query(), 5).height == 0


def test_sync_down_to_nothing_and_up_again(index: SpaceIndex) -> None:
    """All rows can go and come back; search follows."""
    sync(index, source(1, 2))
    assert sync(index, Source([])).deleted == 2
    assert texts(index, "ablazione") == []
    sync(index, source(2))
    assert texts(index, "ablazione") == ["ws/mem-0002"]


def test_upsert_optimize_upsert_keeps_one_row_per_key(index: SpaceIndex) -> None:
    """Compaction between two merges loses and doubles nothing."""
    sync(index, source(*range(50)))
    index.optimize()
    sync(index, Source([row(n, detail=f"second{n}") for n in range(20, 70)]))
    index.optimize()
    done = sync(index, Source([row(n, detail=f"third{n}") for n in range(10, 80)]))
    assert done.rows == len(keys(index)) == len(set(keys(index))) == 70
    assert texts(index, "third42") == ["ws/mem-0042"]
    assert texts(index, "second42") == []


def test_two_handles_see_each_others_rows(index: SpaceIndex) -> None:
    """A handle that was opened before another one wrote works on the newest state."""
    other = SpaceIndex.open(index.index_dir, SPACE)
    sync(index, source(1, 2))
    done = sync(other, source(2, 3))
    assert (done.inserted, done.deleted, done.rows) == (1, 1, 2)
    assert sync(index, source(2, 3)).version == done.version
    assert keys(index) == ["ws/mem-0002", "ws/mem-0003"]


def test_full_text_after_many_optimizes(index: SpaceIndex) -> None:
    """Every row is found once after each of many rounds of change and compaction."""
    for turn in range(8):
        sync(index, Source([row(n, detail=f"turn{turn} word{n}") for n in range(turn, turn + 10)]))
        index.optimize()
        assert sorted(texts(index, f"turn{turn}")) == keys(index)
        assert texts(index, f"turn{turn - 1}") == []


def test_fresh_rows_are_found_by_their_words_without_optimize(index: SpaceIndex) -> None:
    """A row that no index covers yet is found, and a replaced text is not."""
    sync(index, source(1), optimize_at=None)
    sync(index, Source([row(1, detail="cod_paz"), row(2, detail="DRG-123")]), optimize_at=None)
    assert texts(index, "COD_PAZ") == ["ws/mem-0001"]
    assert texts(index, "drg-123") == ["ws/mem-0002"]
    assert texts(index, "detail1") == []


def test_rebuilding_twice_gives_the_same_rows(tmp_path: Path) -> None:
    """Two indexes built anew from one registry hold the same rows and the same ids."""
    frames = []
    for name in ("one", "two"):
        fresh = SpaceIndex.open(tmp_path / name, SPACE)
        done = sync(fresh, source(*range(20)))
        frames.append(fresh.pin(done.version).rows())
    assert frames[0].equals(frames[1])
    assert frames[0]["row_key"].n_unique() == 20


def test_one_memory_id_in_two_tenants_is_two_rows(index: SpaceIndex) -> None:
    """A change in one tenant does not reach the other tenant's memory of the same id."""
    other = row(1, tenant_id="az", detail="az detail")
    sync(index, Source([row(1), other]))
    sync(index, Source([row(1, detail="ws changed"), other]))
    pinned = index.pin(index.version)
    assert pinned.fetch(["az/mem-0001", "ws/mem-0001"])["detail"].to_list() == [
        "az detail",
        "ws changed",
    ]
    found = pinned.vector_search(_query(), 10, equals("tenant_id", "az"))
    assert found["row_key"].to_list() == ["az/mem-0001"]


@pytest.mark.parametrize("tenant_id", ["a' OR 1=1 --", 'q"\\', "città/è", "日本", "a''b", "%_"])
def test_tenant_names_are_only_data(index: SpaceIndex, tenant_id: str) -> None:
    """No tenant name widens a filter or a deletion."""
    mine, other = row(1, tenant_id=tenant_id), row(2)
    sync(index, Source([mine, other]))
    pinned = index.pin(index.version)
    where = equals("tenant_id", tenant_id)
    assert pinned.rows(["row_key"], where)["row_key"].to_list() == [mine["row_key"]]
    assert pinned.text_search("ablazione", 9, where)["row_key"].to_list() == [mine["row_key"]]
    assert pinned.vector_search(_query(), 9, where)["row_key"].to_list() == [mine["row_key"]]
    sync(index, Source([other]))
    assert keys(index) == [other["row_key"]]


def test_pending_vector_is_found_by_words_and_filled_later(index: SpaceIndex) -> None:
    """A row without a vector is found by its words only, and completed once it has one."""
    waiting = Source([row(1, vector=None), row(2)])
    assert sync(index, waiting).pending == 1
    version = index.version
    assert sync(index, waiting).version == version
    assert texts(index, "detail1") == ["ws/mem-0001"]
    assert index.pin(version).vector_search(_query(), 9)["row_key"].to_list() == ["ws/mem-0002"]
    filled = sync(index, source(1, 2))
    assert (filled.updated, filled.pending) == (1, 0)
    assert index.pin(filled.version).vector_search(_query(), 9).height == 2


def test_vector_is_kept_while_the_provider_is_away(index: SpaceIndex) -> None:
    """Equal content whose vector cannot be had tonight keeps the one it has."""
    done = sync(index, source(1))
    later = sync(index, source(1, vector=None))
    assert (later.version, later.pending) == (done.version, 0)


def test_changed_text_with_a_pending_vector_loses_the_old_vector(index: SpaceIndex) -> None:
    """A vector never stays beside a text that it was not made from."""
    sync(index, source(1))
    assert sync(index, source(1, detail="other", vector=None)).pending == 1


def test_only_pending_vectors(index: SpaceIndex) -> None:
    """A space whose provider never answered can be built and searched by words."""
    sync(index, source(1, 2, vector=None))
    assert len(texts(index, "ablazione")) == 2
    assert index.pin(index.version).vector_search(_query(), 3).height == 0


def test_unicode_survives(index: SpaceIndex) -> None:
    """Text comes back as it went in, byte for byte."""
    subject = "età 👩\u200d⚕️ \u202eabc e\u0301 'x' \\n %"
    sync(index, source(1, subject=subject))
    assert index.pin(index.version).rows(["subject"])["subject"].to_list() == [subject]


def test_rows_in_the_table_twice_are_mended(index: SpaceIndex) -> None:
    """Copies of a row that something else inserted become one row again."""
    wanted = source(1, 2, 3)
    sync(index, wanted)
    copies = wanted.rows_for(["ws/mem-0001", "ws/mem-0002"])
    lance.write_dataset(copies, str(index.path), mode="append")
    assert len(index.pin(index.version + 1).keys()) == 5
    done = sync(index, wanted)
    assert (done.inserted, done.updated, done.deleted, done.rows) == (0, 2, 0, 3)
    assert len(texts(index, "ablazione")) == 3


def test_deleted_rows_and_orphans_are_mended(index: SpaceIndex) -> None:
    """Five rows deleted and three added by hand are put right by the next sync."""
    wanted = source(*range(10))
    sync(index, wanted)
    dataset = lance.dataset(str(index.path))
    dataset.delete("memory_id < 'mem-0005'")
    lance.write_dataset(
        source(91, 92, 93).rows_for([f"ws/mem-009{n}" for n in (1, 2, 3)]), dataset, mode="append"
    )
    done = sync(index, wanted)
    assert (done.inserted, done.deleted, done.rows) == (5, 3, 10)


def test_rows_are_merged_and_deleted_in_chunks(
    index: SpaceIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More rows than one chunk holds come and go completely."""
    monkeypatch.setattr("memory_assets.storage.index.ROWS_PER_MERGE", 7)
    monkeypatch.setattr("memory_assets.storage.index.KEYS_PER_DELETE", 7)
    assert sync(index, source(*range(30))).rows == 30
    assert sync(index, source(*range(25, 40))).rows == 15


def test_worn_table_is_optimized_by_the_sync(
    index: SpaceIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the given share of rows outside the indexes a sync compacts; below it does not."""
    monkeypatch.setattr("memory_assets.storage.index._UNINDEXED_AT_LEAST", 3)
    assert not sync(index, source(*range(20))).optimized
    assert not sync(index, source(*range(23))).optimized
    assert sync(index, source(*range(40))).optimized
    stats = lance.dataset(str(index.path)).stats.index_stats("folded_idx")
    assert stats["num_unindexed_rows"] == 0


def test_small_files_are_joined_after_many_nights(
    index: SpaceIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A year of small nights does not leave a year of files."""
    monkeypatch.setattr("memory_assets.storage.index._FRAGMENTS_AT_MOST", 5)
    for night in range(1, 12):
        sync(index, source(*range(night)))
    assert len(lance.dataset(str(index.path)).get_fragments()) <= 6
    assert len(texts(index, "ablazione")) == 11


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"kind": "table_promoted"}, "kind"),
        ({"memory_id": "mem-0009"}, "row keys differ"),
        ({"index_sha256": "0" * 64}, "another hash"),
        ({"vector": [float("nan")] * DIMENSION}, "finite"),
        ({"vector": [float("inf")] * DIMENSION}, "finite"),
        ({"row_key": "ws/mem-0009"}, "asked for"),
    ],
)
def test_unsound_rows_are_refused(index: SpaceIndex, changes: dict[str, object], said: str) -> None:
    """What is no memory, or not the row that was asked for, never reaches the table."""
    wanted = source(1)

    def rows_for(_: list[str]) -> pa.Table:
        return pa.Table.from_pylist([row(1) | changes], schema=index_schema(DIMENSION))

    with pytest.raises(IndexMismatch, match=said):
        index.sync(wanted.target, rows_for)
    assert index.version == 1


def test_duplicates_in_the_source_are_refused(index: SpaceIndex) -> None:
    """A key that the target or the rows hold twice is refused before anything is written."""
    wanted = source(1)
    twice = pl.concat([wanted.target, wanted.target])
    with pytest.raises(IndexMismatch, match="twice"):
        index.sync(twice, wanted.rows_for)
    with pytest.raises(IndexMismatch, match="ws/mem-0001"):
        index.sync(wanted.target, lambda keys: wanted.rows_for(keys * 2))
    assert index.version == 1


def test_target_must_say_all_it_has_to(index: SpaceIndex) -> None:
    """A target without hashes, or with null keys, is refused."""
    wanted = source(1)
    with pytest.raises(IndexMismatch, match="has_vector"):
        index.sync(wanted.target.drop("has_vector"), wanted.rows_for)
    holed = wanted.target.with_columns(row_key=pl.lit(None, pl.String))
    with pytest.raises(IndexMismatch, match="row_key"):
        index.sync(holed, wanted.rows_for)


def test_rows_may_come_from_polars_types(index: SpaceIndex) -> None:
    """Large strings and lists, as Polars writes them, are taken."""
    wanted = source(1, 2)

    def as_polars_writes(keys: list[str]) -> pa.Table:
        return pl.DataFrame(wanted.rows_for(keys)).to_arrow()

    done = index.sync(wanted.target.to_arrow(), as_polars_writes)
    assert done.rows == 2


def test_other_columns_are_a_named_error(tmp_path: Path) -> None:
    """A table of an older layout is refused with the command that rebuilds it."""
    table = pa.table({"row_key": ["a"]})
    lance.write_dataset(table, str(tmp_path / f"{SPACE.space_id}.lance"))
    with pytest.raises(IndexMismatch, match="reindex"):
        SpaceIndex.open(tmp_path, SPACE)
    with pytest.raises(IndexMismatch, match="reindex"):
        SpaceIndex.head(tmp_path, SPACE, table=SPACE.space_id)


def test_the_head_is_what_a_writer_left(index: SpaceIndex) -> None:
    """The newest version, whoever made it, read without opening the table for writing."""
    sync(index, source(1, 2))
    found = SpaceIndex.head(index.index_dir, SPACE, table=index.table)
    assert found.version == index.version
    assert sorted(found.keys()["row_key"]) == keys(index)


def test_vector_index_is_built_above_its_threshold(tmp_path: Path) -> None:
    """Above the threshold a vector index is built, and its answers agree with the exact ones."""
    dimension = 128
    many = Source([row(n, vector=unit(n, dimension)) for n in range(600)], dimension)
    space = EmbeddingSpace("local", "tiny", dimension, "f", "search-v1")
    index = SpaceIndex.open(tmp_path, space, vector_index_from=500)
    sync(index, Source(list(many.by_key.values())[:400], dimension))
    assert "IVF_RQ" not in _index_types(index)
    pinned = index.pin(sync(index, many).version)
    assert _index_types(index) >= {"IVF_RQ", "Inverted", "Bitmap", "BTree"}
    shared = 0
    for seed in range(20):
        query = np.array(unit(10_000 + seed, dimension), dtype=np.float32)
        near = pinned.vector_search(query, 10)
        exact = pinned.vector_search(query, 10, exact=True)
        both = near.join(exact, on="row_key", suffix="_exact")
        shared += both.height
        assert (both["cosine"] - both["cosine_exact"]).abs().max() < 1e-5  # type: ignore[operator]
    assert shared >= 0.97 * 200


def test_two_processes_with_the_same_rows_leave_no_duplicates(index: SpaceIndex) -> None:
    """Two writers at once end with each row once: the primary key makes their merges conflict."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(2)
    workers = [
        context.Process(target=_sync_in_a_process, args=(index.index_dir, barrier))
        for _ in range(2)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    done = sync(SpaceIndex.open(index.index_dir, SPACE), source(*range(300)))
    assert (done.inserted, done.updated, done.deleted, done.rows) == (0, 0, 0, 300)
    assert [worker.exitcode for worker in workers].count(0) >= 1


def _sync_in_a_process(index_dir: Path, barrier: Barrier) -> None:
    wanted = source(*range(300))
    target = wanted.target
    index = SpaceIndex.open(index_dir, SPACE)
    barrier.wait(60)
    index.sync(target, wanted.rows_for)


def _index_types(index: SpaceIndex) -> set[str]:
    dataset = lance.dataset(str(index.path), version=index.version)
    return {one.index_type for one in dataset.describe_indices()}


def _query() -> npt.NDArray[np.float32]:
    return np.array(unit(5), dtype=np.float32)
