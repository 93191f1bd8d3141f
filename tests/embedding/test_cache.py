"""The cache of vectors: what goes in comes out, whatever happens to the file or the process."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_assets.domain.ports import TextKind, Vectors
from memory_assets.domain.spaces import text_sha256
from memory_assets.embedding.cache import SqliteVectorCache, copy_vectors
from memory_assets.errors import StoreWriteFailed

KINDS: tuple[TextKind, ...] = ("document", "query")


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[SqliteVectorCache]:
    """An empty cache on day 10."""
    opened = SqliteVectorCache(tmp_path / "cache" / "vectors.sqlite", today=lambda: 10)
    yield opened
    opened.close()


def keys_of(names: Sequence[object]) -> list[str]:
    """Hashes as keys."""
    return [text_sha256(str(name)) for name in names]


def unit(count: int, dimension: int = 8, seed: int = 0) -> Vectors:
    """Random vectors of length 1."""
    rows = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def same(found: npt.NDArray[np.float32], put: npt.NDArray[np.float32]) -> bool:
    """Equal to the last bit."""
    return found.dtype == np.float32 and found.tobytes() == put.tobytes()


def test_what_was_put_comes_back_to_the_bit(cache: SqliteVectorCache) -> None:
    """Also after the file was closed and opened again."""
    keys, vectors = keys_of(range(2_000)), unit(2_000)
    cache.put("m", "document", keys, vectors)
    cache.close()
    found = cache.get("m", "document", [*keys, *keys_of(["absent"])])
    assert len(found) == 2_000
    assert all(same(found[key], row) for key, row in zip(keys, vectors, strict=True))


@pytest.mark.parametrize(
    ("model", "kind", "name"), [("n", "document", 1), ("m", "query", 1), ("m", "document", 2)]
)
def test_model_kind_and_text_are_all_part_of_the_key(
    cache: SqliteVectorCache, model: str, kind: TextKind, name: int
) -> None:
    """Another model, kind or text finds nothing."""
    cache.put("m", "document", keys_of([1]), unit(1))
    assert cache.get(model, kind, keys_of([name])) == {}


def test_the_first_vector_of_a_text_stays(cache: SqliteVectorCache) -> None:
    """Putting again changes nothing, so results do not drift from night to night."""
    cache.put("m", "document", keys_of([1]), unit(1, seed=1))
    cache.put("m", "document", keys_of([1]), unit(1, seed=2))
    assert same(cache.get("m", "document", keys_of([1]))[text_sha256("1")], unit(1, seed=1)[0])


def test_as_many_keys_as_vectors(cache: SqliteVectorCache) -> None:
    """A mismatch is the caller's mistake and is not stored."""
    with pytest.raises(ValueError, match="2 keys for 1 vectors"):
        cache.put("m", "document", keys_of([1, 2]), unit(1))


def test_delete_leaves_no_trace_in_any_file(cache: SqliteVectorCache) -> None:
    """An erased vector's bytes are in none of the cache's files, under any model and kind."""
    keys, vectors = keys_of(range(300)), unit(300, 64)
    for model in ("m", "n"):
        for kind in KINDS:
            cache.put(model, kind, keys, vectors)
    damaged = cache.path.with_name(cache.path.name + ".damaged")
    damaged.write_bytes(vectors.tobytes())
    assert cache.delete(keys[:200]) == 800
    everything = b"".join(path.read_bytes() for path in cache.path.parent.iterdir())
    assert [n for n in range(200) if vectors[n].tobytes() in everything] == []
    assert len(cache.get("n", "query", keys)) == 100


def test_delete_says_when_it_could_not(cache: SqliteVectorCache) -> None:
    """A reader that holds the log keeps traces: an erasure must not report success."""
    cache.put("m", "document", keys_of([1]), unit(1))
    reader = sqlite3.connect(cache.path)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM entries").fetchone()
    cache.busy_seconds = 0.05
    cache.close()
    with pytest.raises(StoreWriteFailed, match="could not be deleted"):
        cache.delete(keys_of([1]))
    reader.close()
    cache.delete(keys_of([1]))


def test_the_longest_unused_go_first(tmp_path: Path) -> None:
    """Beyond the limit, vectors that were used today survive older ones."""
    today = [1]
    path = tmp_path / "c.sqlite"
    cache = SqliteVectorCache(path, 400_000, today=lambda: today[0])
    old, used = keys_of(range(200)), keys_of(range(1_000, 1_050))
    cache.put("m", "document", [*old, *used], unit(250, 256))
    today[0] = 2
    cache.get("m", "document", used)
    cache.put("m", "document", keys_of(range(2_000, 2_150)), unit(150, 256))
    assert cache.stats().bytes_used <= 400_000
    assert len(cache.get("m", "document", used)) == 50
    assert len(cache.get("m", "document", old)) < 200
    cache.close()
    assert path.stat().st_size <= 400_000


def test_stats_count_what_is_there(cache: SqliteVectorCache) -> None:
    """Vectors, models and the oldest day of use."""
    cache.put("m", "document", keys_of([1, 2]), unit(2))
    cache.put("n", "query", keys_of([1]), unit(1))
    stats = cache.stats()
    assert (stats.vectors, stats.models, stats.oldest_day) == (3, 2, 10)
    assert stats.to_dict()["vectors"] == 3


@pytest.mark.parametrize("where", ["head", "middle", "all"])
def test_a_damaged_file_is_moved_aside_and_begun_anew(
    cache: SqliteVectorCache, where: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Garbage in the file costs what was cached, never the run."""
    keys, vectors = keys_of(range(500)), unit(500, 64)
    cache.put("m", "document", keys, vectors)
    cache.close()
    content = bytearray(cache.path.read_bytes())
    first, last = {"head": (0, 200), "middle": (8_192, len(content)), "all": (0, len(content))}[
        where
    ]
    content[first:last] = b"\xa5" * (last - first)
    cache.path.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert cache.get("m", "document", keys) == {}
    assert "begun anew" in caplog.text
    cache.put("m", "document", keys, vectors)
    assert len(cache.get("m", "document", keys)) == 500
    assert cache.path.with_name(cache.path.name + ".damaged").exists()


def test_a_file_of_another_format_is_begun_anew(cache: SqliteVectorCache) -> None:
    """A cache of a later version is not misread."""
    cache.put("m", "document", keys_of([1]), unit(1))
    cache.close()
    with sqlite3.connect(cache.path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    assert cache.get("m", "document", keys_of([1])) == {}
    cache.put("m", "document", keys_of([1]), unit(1))
    assert cache.stats().vectors == 1


def test_a_vector_that_was_altered_counts_as_missing(cache: SqliteVectorCache) -> None:
    """SQLite notices no flipped bit inside a row; the length of the vector does."""
    keys = keys_of(range(3))
    cache.put("m", "document", keys, unit(3))
    cache.close()
    with sqlite3.connect(cache.path) as db:
        bad = np.full(8, np.nan, np.float32).tobytes()
        db.execute("UPDATE vectors SET vector = ? WHERE id = 1", (bad,))
        db.execute("UPDATE vectors SET vector = ? WHERE id = 2", (b"\x00" * 12,))
    db.close()
    assert list(cache.get("m", "document", keys)) == [keys[2]]


def test_a_folder_that_cannot_be_written_costs_time_only(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Without a usable place the cache answers nothing, and says so in the log."""
    (tmp_path / "file").write_text("in the way")
    cache = SqliteVectorCache(tmp_path / "file" / "vectors.sqlite")
    with caplog.at_level(logging.WARNING):
        cache.put("m", "document", keys_of([1]), unit(1))
        assert cache.get("m", "document", keys_of([1])) == {}
    assert "cannot be written" in caplog.text
    assert "cannot be read" in caplog.text


def test_a_moved_file_of_another_process_is_left_alone(tmp_path: Path) -> None:
    """Of two processes that meet damage, the second does not move the first one's new file."""
    path = tmp_path / "c.sqlite"
    one, two = SqliteVectorCache(path), SqliteVectorCache(path)
    keys = keys_of(range(200))
    one.put("m", "document", keys, unit(200, 64))
    two.get("m", "document", keys[:1])
    one.close()
    path.write_bytes(b"\xa5" * path.stat().st_size)
    one.put("m", "document", keys, unit(200, 64))
    two.get("m", "document", keys)
    two.close()
    assert len(two.get("m", "document", keys)) == 200
    one.close()
    two.close()


def _writer(path: Path, start: int) -> None:
    cache = SqliteVectorCache(path)
    for part in range(start, start + 600, 50):
        numbers = range(part, part + 50)
        rows = np.concatenate([unit(1, seed=n) for n in numbers])
        cache.put("m", "document", keys_of(numbers), rows)
    cache.close()


def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    """Three writers with overlapping texts: every vector is there, once, and right."""
    path = tmp_path / "c.sqlite"
    context = multiprocessing.get_context("spawn")
    with SqliteVectorCacheOpen(path):
        workers = [context.Process(target=_writer, args=(path, start)) for start in (0, 300, 600)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    cache = SqliteVectorCache(path)
    found = cache.get("m", "document", keys_of(range(1_200)))
    assert cache.stats().vectors == 1_200
    assert all(same(found[text_sha256(str(n))], unit(1, seed=n)[0]) for n in range(1_200))
    cache.close()


class SqliteVectorCacheOpen:
    """A cache that is open in the parent when children are forked: SQLite's hardest case."""

    def __init__(self, path: Path) -> None:
        self.cache = SqliteVectorCache(path)

    def __enter__(self) -> None:
        self.cache.put("m", "document", keys_of([0]), unit(1, seed=0))

    def __exit__(self, *_: object) -> None:
        assert self.cache.stats().vectors == 1_200
        self.cache.close()


_ENDLESS_WRITER = """
import sys
from pathlib import Path
import numpy as np
from memory_assets.domain.spaces import text_sha256
from memory_assets.embedding.cache import SqliteVectorCache, copy_vectors
cache = SqliteVectorCache(Path(sys.argv[1]))
number = 0
while True:
    rows = np.eye(64, dtype=np.float32)[[number % 64] * 40]
    cache.put("m", "document", [text_sha256(f"{number}/{n}") for n in range(40)], rows)
    number += 1
    print(number, flush=True)
"""


@pytest.mark.crash
def test_a_kill_leaves_a_sound_file_with_all_that_was_put(tmp_path: Path) -> None:
    """SIGKILL while writing: what was acknowledged is there, and the file passes its check."""
    path = tmp_path / "c.sqlite"
    for seconds in (0.02, 0.07, 0.15):
        worker = subprocess.Popen(
            [sys.executable, "-c", _ENDLESS_WRITER, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert worker.stdout is not None
        worker.stdout.readline()
        time.sleep(seconds)
        os.kill(worker.pid, signal.SIGKILL)
        acknowledged = max(map(int, worker.stdout.read().split()), default=1)
        worker.wait()
        worker.stdout.close()
        cache = SqliteVectorCache(path)
        keys = [text_sha256(f"{number}/{n}") for number in range(acknowledged) for n in range(40)]
        assert len(cache.get("m", "document", keys)) == len(keys)
        cache.close()
        db = sqlite3.connect(path)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        db.close()


def test_bulk_work_takes_a_fraction_of_a_millisecond_a_vector(cache: SqliteVectorCache) -> None:
    """60,000 vectors take about 1 s each way; the bound is ten times that."""
    keys, vectors = keys_of(range(12_000)), unit(12_000, 384)
    began = time.process_time()
    cache.put("m", "document", keys, vectors)
    assert len(cache.get("m", "document", keys)) == 12_000
    assert time.process_time() - began < 4


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["put", "delete", "reopen"]), st.sets(st.integers(0, 12), max_size=6)
        ),
        max_size=25,
    )
)
def test_it_behaves_like_a_dictionary(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, set[int]]]
) -> None:
    """Any sequence of puts, deletes and reopenings gives what a dictionary would give."""
    path = tmp_path_factory.mktemp("model") / "c.sqlite"
    cache = SqliteVectorCache(path)
    model: dict[str, bytes] = {}
    for number, (what, names) in enumerate(steps):
        keys = keys_of(sorted(names))
        if what == "put":
            rows = unit(len(keys), seed=number)
            cache.put("m", "query", keys, rows)
            for key, row in zip(keys, rows, strict=True):
                model.setdefault(key, row.tobytes())
        elif what == "delete":
            assert cache.delete(keys) == sum(key in model for key in keys)
            for key in keys:
                model.pop(key, None)
        else:
            cache.close()
        found = cache.get("m", "query", keys_of(range(13)))
        assert {key: row.tobytes() for key, row in found.items()} == model
    cache.close()


def test_a_copy_of_a_cache_in_use_is_whole(cache: SqliteVectorCache, tmp_path: Path) -> None:
    """What is still in the write-ahead log is in the copy; the source goes on."""
    keys, vectors = keys_of(range(50)), unit(50)
    cache.put("m", "document", keys, vectors)
    assert copy_vectors(cache.path, tmp_path / "copy" / "vectors.sqlite")
    copy = SqliteVectorCache(tmp_path / "copy" / "vectors.sqlite")
    assert len(copy.get("m", "document", keys)) == 50
    copy.delete(keys[:10])
    assert len(cache.get("m", "document", keys)) == 50


def test_a_cache_that_cannot_be_copied_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is only a cache: none at all is no word worth, a damaged one is a warning."""
    assert not copy_vectors(tmp_path / "none", tmp_path / "copy")
    assert not caplog.records
    (tmp_path / "torn").write_bytes(b"no database " * 2_000)
    assert not copy_vectors(tmp_path / "torn", tmp_path / "copy")
    assert "cannot be copied" in caplog.text
    assert not (tmp_path / "copy").exists()
