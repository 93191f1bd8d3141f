"""Reading one version of the index: what is found, in which order, and what cannot be read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_assets.domain.text import fold, fold_query
from memory_assets.errors import CorruptStore, IndexMismatch
from memory_assets.storage.index import SpaceIndex
from memory_assets.storage.index_files import manifests
from memory_assets.storage.index_pinned import PinnedIndex
from memory_assets.storage.index_schema import WORD_COLUMNS, all_of, equals, is_null
from tests.storage.index_samples import DIMENSION, SPACE, Source, row, source, unit

SAYINGS = [
    "interventi di ablazione transcatetere",
    "l'età del paziente al ricovero",
    "perché la qualità conta",
    "COUNT(DISTINCT cod_paz)",
    "DRG-123 e ICD 37.34",
    "the patients' procedures by year",
]


def axis(*values: float) -> npt.NDArray[np.float32]:
    vector = np.zeros(DIMENSION, dtype=np.float32)
    vector[: len(values)] = values
    return vector


def index_of(folder: Path, rows: list[dict[str, object]]) -> SpaceIndex:
    index = SpaceIndex.open(folder, SPACE)
    wanted = Source(rows)
    index.sync(wanted.target, wanted.rows_for)
    return index


@pytest.fixture
def index(tmp_path: Path) -> SpaceIndex:
    return index_of(tmp_path / "index", [row(n) for n in range(10)])


@pytest.fixture(scope="module")
def sayings(tmp_path_factory: pytest.TempPathFactory) -> PinnedIndex:
    rows = [row(n, subject="", detail=text) for n, text in enumerate(SAYINGS)]
    index = index_of(tmp_path_factory.mktemp("sayings"), rows)
    return index.pin(index.version)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("intervento ablazioni", 0),
        ("eta", 1),
        ("l’età", 1),
        ("perche'", 2),
        ("qualita", 2),
        ("cod_paz", 3),
        ("paz", 3),
        ("drg-123", 4),
        ("37.34", 4),
        ("patient procedure", 5),
    ],
)
def test_text_search_speaks_italian_english_and_identifiers(
    sayings: PinnedIndex, query: str, expected: int
) -> None:
    """The row a reader would expect comes first, and rows that share no term are not there."""
    found = sayings.text_search(fold_query(query), 10)
    assert found["row_key"].to_list() == [f"ws/mem-{expected:04d}"]
    assert found["bm25"].to_list()[0] > 0


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(sorted({term for text in SAYINGS for term in fold(text).split()})))
def test_text_search_splits_exactly_as_the_fold_does(sayings: PinnedIndex, term: str) -> None:
    """The engine's terms are our terms: each one finds just the rows whose folded text has it."""
    found = set(sayings.text_search(term, 10)["row_key"])
    assert found == {
        f"ws/mem-{n:04d}" for n, text in enumerate(SAYINGS) if term in fold(text).split()
    }


def test_text_search_finds_terms_of_any_length(tmp_path: Path) -> None:
    """An identifier longer than the engine's usual limit of 40 is no exception."""
    name = "flag_" + "x" * 90
    index = index_of(tmp_path, [row(1, detail=name), row(2)])
    assert index.pin(index.version).text_search(name, 5)["row_key"].to_list() == ["ws/mem-0001"]


@pytest.mark.parametrize("query", ["", " ", "\t"])
def test_empty_query_finds_nothing(sayings: PinnedIndex, query: str) -> None:
    """A query without terms has no hits, in the same columns."""
    found = sayings.text_search(query, 10)
    assert (found.columns, found.height) == (["row_key", "bm25"], 0)


def test_query_text_is_only_data(sayings: PinnedIndex) -> None:
    """Signs of a query language have no meaning."""
    for query in ('"cod_paz', "+ -", "a AND (", "cod_paz^2~", "*:*", "'"):
        sayings.text_search(query, 3)


def test_cosine_is_raw(tmp_path: Path) -> None:
    """The score is the cosine of the two vectors, from -1 to 1, best first."""
    vectors = [axis(1), axis(0.6, 0.8), axis(0, 1), axis(-1)]
    rows = [row(n, vector=[float(x) for x in v]) for n, v in enumerate(vectors)]
    index = index_of(tmp_path, rows)
    found = index.pin(index.version).vector_search(axis(2.0), 10)
    assert found["row_key"].to_list() == [f"ws/mem-{n:04d}" for n in range(4)]
    assert found["cosine"].to_list() == pytest.approx([1.0, 0.6, 0.0, -1.0], abs=1e-6)


def test_filters_narrow_before_the_search(index: SpaceIndex) -> None:
    """A far row inside the filter is found although ten nearer ones are outside it."""
    rows = [row(n) for n in range(10)]
    far = row(99, tenant_id="az", vector=[-x for x in unit(3)], client_id="c1", detail="ablazione")
    wanted = Source([*rows, far])
    index.sync(wanted.target, wanted.rows_for)
    pinned = index.pin(index.version)
    where = all_of(equals("tenant_id", "az"), equals("client_id", "c1"))
    query = np.array(unit(3), dtype=np.float32)
    assert pinned.vector_search(query, 1, where)["row_key"].to_list() == [far["row_key"]]
    assert pinned.text_search("ablazione", 1, where)["row_key"].to_list() == [far["row_key"]]
    assert pinned.count_rows(is_null("client_id")) == 10


@pytest.mark.parametrize("k", [0, -1])
def test_no_hits_asked_for(index: SpaceIndex, k: int) -> None:
    """Asking for no hits gives none instead of an error."""
    pinned = index.pin(index.version)
    assert pinned.vector_search(axis(1), k).height == 0
    assert pinned.text_search("ablazione", k).height == 0


def test_query_vector_of_another_dimension_is_refused(index: SpaceIndex) -> None:
    """A vector of another model cannot be compared by mistake."""
    with pytest.raises(IndexMismatch, match="dimension 8"):
        index.pin(index.version).vector_search(np.zeros(3, dtype=np.float32), 3)


def test_fetch_keeps_the_order_and_leaves_out_the_unknown(index: SpaceIndex) -> None:
    """Rows come in the order of the keys, each once; unknown keys are no error."""
    pinned = index.pin(index.version)
    asked = ["ws/mem-0007", "ws/nope", "ws/mem-0002", "ws/mem-0007"]
    assert pinned.fetch(asked, ["memory_id"])["memory_id"].to_list() == ["mem-0007", "mem-0002"]
    assert pinned.fetch([]).columns == list(WORD_COLUMNS)
    assert pinned.fetch([]).height == 0


def test_fetch_of_more_keys_than_one_filter_holds(
    index: SpaceIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long key lists are asked for in pieces, without loss."""
    monkeypatch.setattr("memory_assets.storage.index_pinned.KEYS_PER_FILTER", 3)
    asked = [f"ws/mem-{n:04d}" for n in range(9, -1, -1)]
    assert index.pin(index.version).fetch(asked)["row_key"].to_list() == asked


def test_vectors_come_back_exactly(index: SpaceIndex) -> None:
    """Vectors are the float32 that went in; pending ones are left out."""
    wanted = Source([row(1), row(2, detail="new", vector=None), row(3)])
    pinned = index.pin(index.sync(wanted.target, wanted.rows_for).version)
    keys, vectors = pinned.vectors()
    assert keys == ["ws/mem-0001", "ws/mem-0003"]
    assert vectors.shape == (2, DIMENSION)
    assert vectors.dtype == np.float32
    some, two = pinned.vectors(["ws/mem-0003", "ws/mem-0001"])
    assert some == ["ws/mem-0003", "ws/mem-0001"]
    assert np.array_equal(two, np.array([unit(3), unit(1)], dtype=np.float32))
    assert pinned.vectors([])[1].shape == (0, DIMENSION)


def test_all_pending_gives_an_empty_array(tmp_path: Path) -> None:
    """No vectors at all is an array of no rows, not an error."""
    index = index_of(tmp_path, [row(1, vector=None)])
    keys, vectors = index.pin(index.version).vectors()
    assert (keys, vectors.shape) == ([], (0, DIMENSION))


def test_version_that_is_gone_is_a_named_error(index: SpaceIndex) -> None:
    """An unknown version, or a space without a table, says what to run."""
    with pytest.raises(IndexMismatch, match="reindex"):
        index.pin(999)
    with pytest.raises(IndexMismatch, match="reindex"):
        PinnedIndex(index.index_dir, "another-space", 1)


@pytest.mark.parametrize("content", [b"", b"x", b"garbage" * 100])
def test_damaged_manifest_is_a_named_error(index: SpaceIndex, content: bytes) -> None:
    """A manifest that a power failure emptied is a damaged store, never an empty index."""
    manifests(index.path)[index.version].write_bytes(content)
    with pytest.raises(CorruptStore, match="repair-index"):
        index.pin(index.version)
    with pytest.raises(CorruptStore, match="repair-index"):
        SpaceIndex.open(index.index_dir, SPACE)


def test_damaged_head_does_not_reach_readers_of_the_published_version(index: SpaceIndex) -> None:
    """What an unpublished version suffers cannot hurt the one that CURRENT names."""
    published = index.version
    wanted = source(1, 2)
    index.sync(wanted.target, wanted.rows_for)
    manifests(index.path)[index.version].write_bytes(b"")
    assert len(index.pin(published).keys()) == 10


@pytest.mark.parametrize("damage", ["empty", "gone"])
def test_damaged_data_file_is_a_named_error(index: SpaceIndex, damage: str) -> None:
    """A data file that lost its bytes or its name is a damaged store."""
    for path in (index.path / "data").iterdir():
        path.write_bytes(b"") if damage == "empty" else path.unlink()
    with pytest.raises(CorruptStore, match="repair-index"):
        index.pin(index.version).rows()


def test_readers_do_not_load_lancedb(index: SpaceIndex) -> None:
    """A search loads Lance alone, which takes a fraction of LanceDB's start-up time."""
    program = (
        "import sys; from pathlib import Path\n"
        "from memory_assets.storage.index_pinned import PinnedIndex\n"
        "assert 'lance' not in sys.modules\n"
        f"PinnedIndex(Path({str(index.index_dir)!r}), {SPACE.space_id!r}, 1).keys()\n"
        "assert 'lancedb' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_rows_can_be_read_by_lancedb_itself(index: SpaceIndex) -> None:
    """The folder is a plain LanceDB database for anyone who opens it with LanceDB."""
    import lancedb

    table = lancedb.connect(str(index.index_dir)).open_table(SPACE.space_id)
    frame = pl.from_arrow(table.to_arrow())
    assert isinstance(frame, pl.DataFrame)
    assert frame.height == 10
