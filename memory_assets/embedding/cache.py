"""The cache of vectors: a text that was embedded once is never embedded again.

One SQLite file, shared by runs, tenants and processes. The key is (model key, kind, SHA-256 of the
text); no text is stored. It is only a cache: a file that SQLite cannot read is moved aside and
begun anew, and a vector that is not what was put in counts as missing.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from memory_assets.domain.ports import TextKind, Vectors
from memory_assets.errors import StoreWriteFailed

_T = TypeVar("_T")
_log = logging.getLogger(__name__)
_inherited: list[sqlite3.Connection] = []
"""Connections of a parent process: SQLite forbids using, and even closing, them in its child."""

VECTORS = "vectors.sqlite"
"""The file in a home's cache folder."""
DEFAULT_MAX_BYTES = 2_000_000_000
_FORMAT = 1
_KEYS_PER_QUERY = 900
"""Older SQLite builds take at most 999 values in one statement."""
_ROWS_PER_COMMIT = 10_000
_EVICT_TO = 0.9
"""What an eviction leaves of the limit, so that the next put does not evict again."""

_SCHEMA = """
CREATE TABLE models (id INTEGER PRIMARY KEY, model_key TEXT NOT NULL UNIQUE);
CREATE TABLE entries (
    id INTEGER PRIMARY KEY,
    model INTEGER NOT NULL,
    kind TEXT NOT NULL,
    sha256 BLOB NOT NULL,
    day INTEGER NOT NULL,
    UNIQUE (sha256, model, kind)
);
CREATE TABLE vectors (id INTEGER PRIMARY KEY, vector BLOB NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class CacheStats:
    """What the cache holds: vectors, models, bytes in use, its limit, and its oldest day of use."""

    vectors: int
    models: int
    bytes_used: int
    max_bytes: int
    oldest_day: int | None
    """Days since 1970-01-01, UTC."""

    def to_dict(self) -> dict[str, int | None]:
        """The numbers as ``--json`` prints them."""
        return asdict(self)


class SqliteVectorCache:
    """Float32 vectors in one SQLite file, at most ``max_bytes`` of them.

    Safe with several processes and threads, and with SIGKILL: a put is committed in pieces, each
    whole or absent. Beyond the limit the vectors go whose last day of use is longest ago. Deleted
    rows are overwritten (``secure_delete``). ``today`` gives the day as a number.
    """

    def __init__(
        self,
        path: Path,
        max_bytes: int = DEFAULT_MAX_BYTES,
        *,
        today: Callable[[], int] = lambda: int(time.time() // 86_400),
    ) -> None:
        self.path = path
        self.max_bytes = max_bytes
        self.busy_seconds = 60.0
        self._today = today
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._owner = 0
        self._inode = 0

    def get(
        self, model_key: str, kind: TextKind, keys: Sequence[str]
    ) -> Mapping[str, npt.NDArray[np.float32]]:
        """The vectors that are there, by key; the day of use is noted."""
        if not keys:
            return {}
        return self._try("read", lambda db: self._get(db, model_key, kind, keys), {})

    def put(self, model_key: str, kind: TextKind, keys: Sequence[str], vectors: Vectors) -> None:
        """Keep one vector per key; a key that is there stays as it is."""
        if len(keys) != len(vectors):
            raise ValueError(f"{len(keys)} keys for {len(vectors)} vectors")
        if len(keys):
            self._try("written", lambda db: self._put(db, model_key, kind, keys, vectors), None)

    def delete(self, keys: Sequence[str]) -> int:
        """Forget these texts under every model and kind; how many vectors went.

        Freed pages are overwritten and the write-ahead log is emptied, so that no copy stays in
        the file; a damaged file that was set aside is removed as well.

        Raises:
            StoreWriteFailed: the vectors, or traces of them, are still there.
        """
        try:
            gone = self._run(lambda db: self._delete(db, keys)) if keys else 0
            self._aside().unlink(missing_ok=True)
        except (sqlite3.Error, OSError) as error:
            raise StoreWriteFailed(
                f"Vectors could not be deleted from the embedding cache: {error}.",
                where=str(self.path),
                remedy="Stop what else uses the cache and repeat, or delete the file: it is "
                "only a cache.",
            ) from error
        return gone

    def stats(self) -> CacheStats:
        """Counts and sizes now."""
        return self._try("read", self._stats, CacheStats(0, 0, 0, self.max_bytes, None))

    def close(self) -> None:
        """Let go of the file; the next call opens it again."""
        with self._lock:
            if self._connection is not None and self._owner == os.getpid():
                self._connection.close()
            self._connection = None

    def _get(
        self, db: sqlite3.Connection, model_key: str, kind: TextKind, keys: Sequence[str]
    ) -> dict[str, npt.NDArray[np.float32]]:
        model = _model_id(db, model_key)
        if model is None:
            return {}
        found: dict[str, npt.NDArray[np.float32]] = {}
        old: list[int] = []
        today = self._today()
        for part in _pieces(keys, _KEYS_PER_QUERY):
            marks = ",".join("?" * len(part))
            rows = db.execute(
                "SELECT e.sha256, v.vector, e.id, e.day FROM entries e JOIN vectors v USING (id)"
                f" WHERE e.sha256 IN ({marks}) AND e.model = ? AND e.kind = ?",
                (*map(bytes.fromhex, part), model, kind),
            )
            for sha256, vector, number, day in rows:
                found[sha256.hex()] = np.frombuffer(vector, np.float32)
                if day < today:
                    old.append(number)
        with contextlib.suppress(sqlite3.OperationalError):
            # A cache on a read-only disk still answers.
            self._note_use(db, old, today)
        return _sound(found)

    def _note_use(self, db: sqlite3.Connection, numbers: Sequence[int], today: int) -> None:
        for part in _pieces(numbers, _ROWS_PER_COMMIT):
            with _transaction(db):
                db.executemany(
                    "UPDATE entries SET day = ? WHERE id = ?", ((today, n) for n in part)
                )

    def _put(
        self,
        db: sqlite3.Connection,
        model_key: str,
        kind: TextKind,
        keys: Sequence[str],
        vectors: Vectors,
    ) -> None:
        rows = np.ascontiguousarray(vectors, np.float32)
        today = self._today()
        for start in range(0, len(keys), _ROWS_PER_COMMIT):
            with _transaction(db):
                model = _model_id(db, model_key, create=True)
                for key, row in zip(
                    keys[start : start + _ROWS_PER_COMMIT],
                    rows[start : start + _ROWS_PER_COMMIT],
                    strict=True,
                ):
                    new = db.execute(
                        "INSERT OR IGNORE INTO entries (model, kind, sha256, day)"
                        " VALUES (?, ?, ?, ?)",
                        (model, kind, bytes.fromhex(key), today),
                    )
                    if new.rowcount:
                        db.execute(
                            "INSERT INTO vectors (id, vector) VALUES (?, ?)",
                            (new.lastrowid, row.tobytes()),
                        )
            self._evict(db)

    def _evict(self, db: sqlite3.Connection) -> None:
        if _bytes_used(db) <= self.max_bytes:
            return
        while (used := _bytes_used(db)) > self.max_bytes:
            with _transaction(db):
                (count,) = db.execute("SELECT count(*) FROM entries").fetchone()
                if not count:
                    break
                surplus = max(1, count - int(count * self.max_bytes * _EVICT_TO / used))
                _remove(db, "SELECT id FROM entries ORDER BY day, id LIMIT ?", (surplus,))
        # Only a script runs this statement to its end; ``execute`` frees one page.
        db.executescript("PRAGMA incremental_vacuum")

    def _delete(self, db: sqlite3.Connection, keys: Sequence[str]) -> int:
        gone = 0
        for part in _pieces(keys, _KEYS_PER_QUERY):
            marks = ",".join("?" * len(part))
            with _transaction(db):
                gone += _remove(
                    db,
                    f"SELECT id FROM entries WHERE sha256 IN ({marks})",
                    tuple(map(bytes.fromhex, part)),
                )
        (busy, _, _) = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise sqlite3.OperationalError("another process keeps the write-ahead log in use")
        return gone

    def _stats(self, db: sqlite3.Connection) -> CacheStats:
        count, models, oldest = db.execute(
            "SELECT count(*), count(DISTINCT model), min(day) FROM entries"
        ).fetchone()
        return CacheStats(count, models, _bytes_used(db), self.max_bytes, oldest)

    def _try(self, done: str, work: Callable[[sqlite3.Connection], _T], otherwise: _T) -> _T:
        """``work``, or ``otherwise`` with a warning: a cache that fails costs time, no more."""
        try:
            return self._run(work)
        except (sqlite3.Error, OSError) as error:
            self.close()
            _log.warning("The embedding cache %s cannot be %s: %s", self.path, done, error)
            return otherwise

    def _run(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """``work`` on the open file; if the file proves damaged, once more on a new one."""
        with self._lock:
            try:
                return work(self._open())
            except sqlite3.OperationalError:
                raise  # locked, full or read-only: nothing is wrong with the file
            except sqlite3.DatabaseError as error:
                _log.warning("The embedding cache %s is begun anew: %s", self.path, error)
                self.close()
                self._set_aside()
                return work(self._open())

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None and self._owner == os.getpid():
            return self._connection
        if self._connection is not None:
            _inherited.append(self._connection)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(
            self.path, timeout=self.busy_seconds, isolation_level=None, check_same_thread=False
        )
        self._inode = os.stat(self.path).st_ino
        self._connection, self._owner = db, os.getpid()
        _prepare(db)
        return db

    def _set_aside(self) -> None:
        """Move the damaged file out of the way, unless another process has done so already."""
        with _exclusive(self.path.with_name(self.path.name + ".lock")):
            try:
                if os.stat(self.path).st_ino != self._inode:
                    return
            except FileNotFoundError:
                return
            os.replace(self.path, self._aside())
            for ending in ("-wal", "-shm"):
                self.path.with_name(self.path.name + ending).unlink(missing_ok=True)

    def _aside(self) -> Path:
        return self.path.with_name(self.path.name + ".damaged")


def copy_vectors(source: Path, target: Path) -> bool:
    """Copies a cache that others may be using into a new file; False, and no file, without one."""
    if not source.is_file():
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with (
            contextlib.closing(
                sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)
            ) as db,
            contextlib.closing(sqlite3.connect(target)) as new,
        ):
            db.backup(new)
    except sqlite3.Error as error:
        _log.warning("The embedding cache %s cannot be copied: %s", source, error)
        target.unlink(missing_ok=True)
        return False
    return True


def _prepare(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA page_size = 8192")
    db.execute("PRAGMA auto_vacuum = INCREMENTAL")
    db.execute("PRAGMA journal_mode = WAL").fetchall()
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA secure_delete = ON").fetchall()
    with _transaction(db):
        (written,) = db.execute("PRAGMA user_version").fetchone()
        if written == 0:
            for statement in _SCHEMA.split(";"):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {_FORMAT}")
        elif written != _FORMAT:
            raise sqlite3.DatabaseError(f"cache format {written}, expected {_FORMAT}")


def _model_id(db: sqlite3.Connection, model_key: str, *, create: bool = False) -> int | None:
    if create:
        db.execute("INSERT OR IGNORE INTO models (model_key) VALUES (?)", (model_key,))
    row = db.execute("SELECT id FROM models WHERE model_key = ?", (model_key,)).fetchone()
    return None if row is None else int(row[0])


def _remove(db: sqlite3.Connection, which: str, values: Sequence[object]) -> int:
    """Delete the entries that the query ``which`` names, vectors first; how many they were."""
    db.execute(f"DELETE FROM vectors WHERE id IN ({which})", tuple(values))
    return db.execute(f"DELETE FROM entries WHERE id IN ({which})", tuple(values)).rowcount


def _bytes_used(db: sqlite3.Connection) -> int:
    (pages,), (free,), (size,) = (
        db.execute(f"PRAGMA {name}").fetchone()
        for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def _sound(
    found: dict[str, npt.NDArray[np.float32]],
) -> dict[str, npt.NDArray[np.float32]]:
    """The vectors that are of one dimension and of length 1; SQLite notices no flipped bit."""
    if not found:
        return {}
    sizes = {key: vector.size for key, vector in found.items()}
    dimension = max(set(sizes.values()), key=list(sizes.values()).count)
    keys = [key for key, size in sizes.items() if size == dimension]
    rows = np.stack([found[key] for key in keys])
    with np.errstate(all="ignore"):
        lengths = np.einsum("ij,ij->i", rows, rows)
    return {
        key: row
        for key, row, length in zip(keys, rows, lengths.tolist(), strict=True)
        if abs(length - 1.0) < 1e-3
    }


@contextlib.contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


@contextlib.contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    with path.open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


_Item = TypeVar("_Item")


def _pieces(items: Sequence[_Item], size: int) -> Iterator[Sequence[_Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
