"""One embedding space's index, brought to what the next generation's registry wants."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from memory_assets.domain.ports import Embedder, Progress, VectorCache, Vectors
from memory_assets.domain.spaces import SEARCH_RECIPE
from memory_assets.embedding.through_cache import EmbedStats, embed_through_cache
from memory_assets.pipeline.index_rows import IndexRows
from memory_assets.storage.failpoints import reached
from memory_assets.storage.generations import Generation, GenerationStore, PinnedSpace
from memory_assets.storage.index import SpaceIndex, SyncResult
from memory_assets.storage.index_diff import difference
from memory_assets.storage.index_files import manifests
from memory_assets.storage.index_pinned import PinnedIndex, table_path
from memory_assets.storage.retention import generation_tag


@dataclass(slots=True)
class IndexStage:
    """What the rows of one space need: vectors first, before any write, then one difference.

    ``published`` is the version of the table that stands (recovery took back all newer ones), or
    None when the table is begun anew.
    """

    index: SpaceIndex
    rows: IndexRows
    rebuild: int
    published: int | None
    vectors: dict[str, Vectors] = field(default_factory=dict)
    stats: EmbedStats | None = None
    target: pl.DataFrame = field(default_factory=pl.DataFrame)

    @classmethod
    def open(
        cls,
        store: GenerationStore,
        current: Generation,
        rows: IndexRows,
        embedder: Embedder,
        *,
        anew: bool,
    ) -> IndexStage:
        """The stage for the embedder's space: its newest published table, or one begun ``anew``."""
        space = embedder.space(SEARCH_RECIPE)
        known = None if anew else _newest(store, current, space.space_id)
        if known and known.version not in manifests(table_path(store.home.index, known.table)):
            known = None  # somebody took the table away; its version numbers must not come back
        rebuild = known.rebuild if known else (current.number + 1 if current.number else 0)
        pinned = PinnedSpace(space, 0, 0, 0, rebuild)
        index = SpaceIndex.open(store.home.index, space, table=pinned.table)
        return cls(index, rows, rebuild, known.version if known else None)

    def embed(
        self, embedder: Embedder, cache: VectorCache, progress: Progress | None = None
    ) -> None:
        """Gets the vectors of the rows that the index lacks; one that cannot be had is pending."""
        head = self.head.keys()
        keys = difference(head, self.rows.keys()).to_fetch
        if keys:
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
    def head(self) -> PinnedIndex:
        """The newest version of the table."""
        return self.index.pin(self.index.version)

    @property
    def differs(self) -> bool:
        """Whether the table is not what the registry asks for."""
        return bool(difference(self.head.keys(), self.target))

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
        return PinnedSpace(self.index.space, done.version, done.rows, done.pending, self.rebuild)


def _newest(store: GenerationStore, current: Generation, space_id: str) -> PinnedSpace | None:
    """The space's table in the newest kept generation that has one."""
    for number in reversed(store.kept(current)):
        generation = current if number == current.number else store.find(number)
        for space in generation.spaces if generation else ():
            if space.space.space_id == space_id:
                return space
    return None
