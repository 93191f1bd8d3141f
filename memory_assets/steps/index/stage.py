"""One embedding space's index, brought to what the next generation's registry wants."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import polars as pl

from memory_assets.domain.ports import Embedder, Progress, VectorCache, Vectors
from memory_assets.domain.spaces import EmbeddingSpace, text_sha256
from memory_assets.embedding.through_cache import EmbedStats, embed_through_cache
from memory_assets.steps.index.rows import IndexRows
from memory_assets.storage.failpoints import reached
from memory_assets.storage.generations import (
    Generation,
    GenerationStore,
    PinnedSpace,
    table_name,
)
from memory_assets.storage.index import SpaceIndex, SyncResult
from memory_assets.storage.index_diff import difference
from memory_assets.storage.index_files import manifests
from memory_assets.storage.index_pinned import table_path
from memory_assets.storage.retention import generation_tag


@dataclass
class IndexStage:
    """What the rows of one space need: vectors first, before any write, then one difference.

    ``published`` is the version of the table that stands (recovery took back all newer ones), or
    None when the table is begun anew; a new one is not created before it is written.
    """

    index_dir: Path
    space: EmbeddingSpace
    rows: IndexRows
    rebuild: int
    published: int | None
    until: str = ""
    """Set for a space that is only kept for a rollback."""
    vectors: dict[str, Vectors] = field(default_factory=dict)
    stats: EmbedStats | None = None
    target: pl.DataFrame = field(default_factory=pl.DataFrame)

    @classmethod
    def open(
        cls,
        store: GenerationStore,
        current: Generation,
        rows: IndexRows,
        space: EmbeddingSpace,
        *,
        anew: bool,
        until: str = "",
    ) -> IndexStage:
        """The stage for a space: its newest published table, or one begun ``anew``."""
        known = None if anew else _newest(store, current, space.space_id)
        if known and known.version not in manifests(table_path(store.home.index, known.table)):
            known = None  # somebody took the table away; its version numbers must not come back
        rebuild = known.rebuild if known else (current.number + 1 if current.number else 0)
        version = known.version if known else None
        return cls(store.home.index, space, rows, rebuild, version, until)

    @cached_property
    def index(self) -> SpaceIndex:
        """The table, opened for writing."""
        return SpaceIndex.open(self.index_dir, self.space, table=self._table)

    def embed(
        self, embedder: Embedder | None, cache: VectorCache, progress: Progress | None = None
    ) -> None:
        """Gets the vectors of the rows that the index lacks; one that cannot be had is pending.

        Without an embedder the cache alone is asked.

        Raises:
            EmbeddingError: the model refused; what was embedded before is in the cache.
        """
        head = self._head_keys()
        keys = difference(head, self.rows.keys()).to_fetch
        if keys and embedder is None:
            self.vectors = self._cached(keys, cache)
        elif keys and embedder is not None:
            found, self.stats = embed_through_cache(
                embedder,
                cache,
                self.rows.texts(keys),
                kind="document",
                progress=progress,
                allow_missing=True,
            )
            # A row that starts with NaN is a text that got no vector.
            self.vectors = {k: v for k, v in zip(keys, found, strict=True) if v[0] == v[0]}
        there = head.filter("has_vector").join(
            self.rows.keys(), on=["row_key", "index_sha256"], how="semi"
        )
        missing = self.rows.all_keys - self.vectors.keys() - set(there["row_key"].to_list())
        self.target = self.rows.keys(missing)

    @property
    def pending(self) -> int:
        """Rows that have no vector."""
        return int((~self.target["has_vector"]).sum())

    @property
    def differs(self) -> bool:
        """Whether the table is not what the registry asks for."""
        return self.published is None or bool(difference(self._head_keys(), self.target))

    def write(self, generation: int) -> SyncResult:
        """Syncs, tags and makes durable: the version that the generation will name."""
        dimension = self.index.space.dimension
        done = self.index.sync(
            self.target, lambda keys: self.rows.table(keys, self.vectors, dimension)
        )
        reached("publish.index-synced")
        self.index.tag(generation_tag(generation), done.version)
        reached("publish.index-tagged")
        self.index.fsync_new(self.published)
        reached("publish.index-durable")
        return done

    def pin(self, done: SyncResult) -> PinnedSpace:
        """The written version as the manifest names it."""
        return PinnedSpace(
            self.space, done.version, done.rows, done.pending, self.rebuild, self.until
        )

    @property
    def _table(self) -> str:
        return table_name(self.space, self.rebuild)

    def _head_keys(self) -> pl.DataFrame:
        """row_key, index_sha256, has_vector of the newest version; none for a new table."""
        if self.published is None:
            return self.rows.keys().clear()
        return SpaceIndex.head(self.index_dir, self.space, table=self._table).keys()

    def _cached(self, keys: list[str], cache: VectorCache) -> dict[str, Vectors]:
        hashes = [text_sha256(text) for text in self.rows.texts(keys)]
        found = cache.get(self.space.model_key, "document", list(dict.fromkeys(hashes)))
        return {k: found[h] for k, h in zip(keys, hashes, strict=True) if h in found}


def _newest(store: GenerationStore, current: Generation, space_id: str) -> PinnedSpace | None:
    """The space's table in the newest kept generation that has one."""
    for number in reversed(store.kept(current)):
        generation = current if number == current.number else store.find(number)
        for space in generation.spaces if generation else ():
            if space.space.space_id == space_id:
                return space
    return None
