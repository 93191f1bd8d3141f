"""The search index: one LanceDB table per embedding space, derived from the registry, disposable.

Writing goes through :class:`SpaceIndex` under the publisher's lock, and is always a difference: the
head of the table against the keys and hashes that the registry wants. So whatever an earlier run
left behind is absorbed, and a table that is right already gets no new version. Readers use
:class:`~memory_assets.storage.index_pinned.PinnedIndex`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import polars as pl
import pyarrow as pa

from memory_assets.domain.spaces import EmbeddingSpace
from memory_assets.errors import IndexMismatch
from memory_assets.storage.files import make_folder
from memory_assets.storage.index_diff import Change, difference, wanted_keys
from memory_assets.storage.index_errors import REINDEX, lance_errors
from memory_assets.storage.index_files import FileStamps, file_stamps, fsync_new, manifests
from memory_assets.storage.index_pinned import PinnedIndex, table_path
from memory_assets.storage.index_rows import sound_rows
from memory_assets.storage.index_schema import SCALAR_INDEXES, index_schema, is_in

if TYPE_CHECKING:
    from lance import LanceDataset
    from lancedb.table import Table

RowsFor = Callable[[list[str]], pa.Table]
"""Full rows, in the columns of ``index_schema``, of the row keys that are asked for."""

ROWS_PER_MERGE = 10_000
KEYS_PER_DELETE = 500
VECTOR_INDEX_FROM = 50_000
"""Rows with a vector from which an approximate index is built; below it search is exact."""

_UNINDEXED_AT_LEAST = 200
_FRAGMENTS_AT_MOST = 4
_INDEX_PARTS_MERGED = 1_000
_BITS = 4
"""Bits per dimension in the vector index. With the usual one bit, 100,000 random vectors of
dimension 384 gave a recall at 10 of 0.51; with four it was 1.00 in the same time per query."""


@dataclass(frozen=True, slots=True)
class SyncResult:
    """What a sync changed, and the version and state it left; all counts are rows."""

    inserted: int
    updated: int
    deleted: int
    pending: int
    rows: int
    version: int
    optimized: bool

    def to_metadata(self) -> dict[str, int | bool]:
        """The result as run metadata."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class CleanupResult:
    """What a clean-up removed."""

    versions: int
    bytes: int


class SpaceIndex:
    """The index of one embedding space, for the one process that publishes."""

    def __init__(
        self,
        index_dir: Path,
        space: EmbeddingSpace,
        *,
        table: str = "",
        vector_index_from: int = VECTOR_INDEX_FROM,
    ) -> None:
        self.index_dir = index_dir
        self.space = space
        self.table = table or space.space_id
        self.path = table_path(index_dir, self.table)
        self._vector_index_from = vector_index_from
        self._schema = index_schema(space.dimension)
        with lance_errors("opening the index for writing", str(self.path)):
            self._table = self._open_or_create()
            found = self._table.schema
        _require_columns(found, self._schema, self.path)

    @classmethod
    def open(
        cls,
        index_dir: Path,
        space: EmbeddingSpace,
        *,
        table: str = "",
        vector_index_from: int = VECTOR_INDEX_FROM,
    ) -> Self:
        """The index of ``space`` below ``index_dir``; an empty one is created if there is none.

        ``table`` names a rebuild of the space; without it the table has the space's own name.

        Raises:
            CorruptStore: the newest version is damaged (see ``index_files.discard_after``).
            StoreWriteFailed: the table cannot be created.
        """
        return cls(index_dir, space, table=table, vector_index_from=vector_index_from)

    @staticmethod
    def head(index_dir: Path, space: EmbeddingSpace, *, table: str) -> PinnedIndex:
        """The newest version of a table that exists, for reading.

        A night that has nothing to write does not load LanceDB, which takes two CPU seconds.

        Raises:
            IndexMismatch: it has other columns than this version writes.
            CorruptStore: the newest version is damaged (see ``index_files.discard_after``).
        """
        path = table_path(index_dir, table)
        found = PinnedIndex(index_dir, table, max(manifests(path)))
        _require_columns(found.schema, index_schema(space.dimension), path)
        return found

    @property
    def version(self) -> int:
        """The version this handle sees; other writers' versions appear at the next sync."""
        with lance_errors("reading the index version", str(self.path)):
            return int(self._table.version)

    def pin(self, version: int) -> PinnedIndex:
        """One version for reading."""
        return PinnedIndex(self.index_dir, self.table, version)

    def sync(
        self,
        target: pa.Table | pl.DataFrame,
        rows_for: RowsFor,
        *,
        optimize_at: float | None = 0.2,
    ) -> SyncResult:
        """What was changed to make the head of the table hold exactly ``target``.

        ``target`` has the columns row_key, index_sha256 and has_vector (bool: whether a vector can
        be had now). A row is fetched through ``rows_for`` and merged when it is new, its hash
        differs, or its vector was pending and is there now. Rows that ``target`` does not name are
        deleted; a key that is in the table twice is deleted and written anew. Nothing to do makes
        no version. Afterwards the table is read again and compared. ``optimize_at`` is the share of
        rows outside the indexes from which it is also compacted; None never does.

        Raises:
            IndexMismatch: ``target`` or ``rows_for`` is not sound, or the result is not ``target``.
            StoreWriteFailed, CorruptStore, PublicationConflict: see ``lance_errors``.
        """
        with lance_errors("reading the newest index version", str(self.path)):
            self._refresh()
        wanted = wanted_keys(target)
        change = difference(self.pin(self.version).keys(), wanted)
        self._delete([*change.duplicated, *change.orphans])
        self._merge(change, wanted, rows_for)
        self._ensure_indexes()
        optimized = bool(change) and optimize_at is not None and self._is_worn(optimize_at)
        if optimized:
            self.optimize()
        return self._verified(change, wanted, optimized=optimized)

    def optimize(self) -> int:
        """The version after small files were joined and fresh rows taken into the indexes.

        Not LanceDB's own ``optimize``: that one also prunes old versions, and fails as soon as one
        of them is tagged and older than a week.
        """
        with lance_errors("compacting the index", str(self.path)):
            dataset = self._dataset()
            # Indexes first: only files that the same indexes cover are joined.
            dataset.optimize.optimize_indices(num_indices_to_merge=_INDEX_PARTS_MERGED)
            dataset.optimize.compact_files()
            self._refresh()
        return self.version

    def tag(self, name: str, version: int | None = None) -> None:
        """Protects a version (the current one by default) from clean-up; an old tag is moved."""
        target = self.version if version is None else version
        existing = self.tags()
        with lance_errors(f"tagging the index as {name}", str(self.path)):
            if name not in existing:
                self._table.tags.create(name, target)
            elif existing[name] != target:
                self._table.tags.update(name, target)

    def untag(self, name: str) -> None:
        """Removes a tag; one that is not there is no error, so that recovery can run twice."""
        if name in self.tags():
            with lance_errors(f"removing the index tag {name}", str(self.path)):
                self._table.tags.delete(name)

    def tags(self) -> dict[str, int]:
        """The version that each tag names."""
        with lance_errors("reading the index tags", str(self.path)):
            return {name: int(tag["version"]) for name, tag in self._table.tags.list().items()}

    def cleanup(self, keep_versions: int, *, unreferenced_too: bool = False) -> CleanupResult:
        """What was removed: versions beyond the newest ``keep_versions``, except tagged ones.

        ``unreferenced_too`` also sweeps files that no version names and that are younger than a
        week, the leftovers of crashed runs; under the publisher's lock no one else can own them.
        """
        with lance_errors("cleaning up old index versions", str(self.path)):
            removed = self._dataset().cleanup_old_versions(
                retain_versions=keep_versions,
                delete_unverified=unreferenced_too,
                error_if_tagged_old_versions=False,
            )
        return CleanupResult(versions=removed.old_versions, bytes=removed.bytes_removed)

    def stamps(self) -> FileStamps:
        """The files of the table as they are now; take it before a sync, for ``fsync_new``."""
        with lance_errors("listing the files of the index", str(self.path)):
            return file_stamps(self.path)

    def fsync_new(self, since_version: int | None, known: FileStamps | None = None) -> int:
        """Count of files made durable since the published version; see ``index_files``."""
        return fsync_new(self.path, since_version, known)

    def _open_or_create(self) -> Table:
        import lancedb

        name = self.table
        make_folder(self.index_dir)
        connection = lancedb.connect(str(self.index_dir))
        if not manifests(self.path):
            try:
                return connection.create_table(name, schema=self._schema)
            except ValueError as error:
                if "already exists" not in str(error):
                    raise
        return connection.open_table(name)

    def _refresh(self) -> None:
        table: Any = self._table
        table.checkout_latest()

    def _dataset(self) -> LanceDataset:
        import lance

        return lance.dataset(str(self.path))

    def _delete(self, keys: list[str]) -> None:
        with lance_errors("deleting index rows", str(self.path)):
            for start in range(0, len(keys), KEYS_PER_DELETE):
                self._table.delete(is_in("row_key", keys[start : start + KEYS_PER_DELETE]))

    def _merge(self, change: Change, wanted: pl.DataFrame, rows_for: RowsFor) -> None:
        keys = change.to_fetch
        for start in range(0, len(keys), ROWS_PER_MERGE):
            chunk = keys[start : start + ROWS_PER_MERGE]
            rows = sound_rows(rows_for(chunk), chunk, wanted, self._schema)
            with lance_errors("writing index rows", str(self.path)):
                merge = self._table.merge_insert("row_key").when_matched_update_all()
                # "null" lets a pending vector through; all others were looked at before.
                merge.when_not_matched_insert_all().execute(rows, on_bad_vectors="null")

    def _ensure_indexes(self) -> None:
        with lance_errors("building the indexes of the table", str(self.path)):
            if not self._table.count_rows():
                return
            present = {column for one in self._table.list_indices() for column in one.columns}
            for column, config in _index_configs().items():
                if column not in present:
                    self._table.create_index(column, config=config)
            if "vector" not in present and self._vectors() >= self._vector_index_from:
                from lancedb.index import IvfRq

                self._table.create_index(
                    "vector", config=IvfRq(distance_type="cosine", num_bits=_BITS)
                )

    def _vectors(self) -> int:
        # Counting null vectors reads them all; the plain count settles it for small tables.
        rows = self._table.count_rows()
        if rows < self._vector_index_from:
            return rows
        return self._table.count_rows("vector IS NOT NULL")

    def _is_worn(self, share: float) -> bool:
        with lance_errors("reading the index statistics", str(self.path)):
            stats = self._table.index_stats("folded_idx")
            outside = stats.num_unindexed_rows if stats else 0
            rows = self._table.count_rows()
            fragments = len(self._dataset().get_fragments())
        return outside > max(_UNINDEXED_AT_LEAST, share * rows) or fragments > _FRAGMENTS_AT_MOST

    def _verified(self, change: Change, wanted: pl.DataFrame, *, optimized: bool) -> SyncResult:
        """The result, once a fresh look at the table agrees with the target."""
        version = self.version
        keys = self.pin(version).keys()
        left = difference(keys, wanted)
        if left or len(keys) != len(wanted):
            odd = [*left.duplicated, *left.to_fetch, *left.orphans]
            raise IndexMismatch(
                f"the index holds {len(keys)} rows after the sync, {len(wanted)} were wanted;"
                f" wrong are {', '.join(odd[:5])}",
                where=str(self.path),
                remedy=REINDEX,
            )
        return SyncResult(
            inserted=len(change.inserts),
            updated=len(change.updates),
            deleted=len(change.orphans),
            pending=int((~keys["has_vector"]).sum()),
            rows=len(keys),
            version=version,
            optimized=optimized,
        )


def _require_columns(found: pa.Schema, wanted: pa.Schema, path: Path) -> None:
    if not found.equals(wanted):
        raise IndexMismatch(
            f"the index has other columns than this version writes: {found.names}",
            where=str(path),
            remedy=REINDEX,
        )


def _index_configs() -> dict[str, Any]:
    from lancedb.index import FTS, Bitmap, BTree

    kinds: dict[str, Callable[[], Any]] = {"bitmap": Bitmap, "btree": BTree}
    # ``folded`` is ready-made terms: the engine must only split them at white space.
    text = FTS(
        base_tokenizer="whitespace",
        max_token_length=None,
        lower_case=False,
        stem=False,
        remove_stop_words=False,
        ascii_folding=False,
    )
    return {"folded": text} | {column: kinds[kind]() for column, kind in SCALAR_INDEXES.items()}
