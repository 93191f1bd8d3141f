"""The embedding spaces of the next generation, each with its own table: who serves, who waits.

The rules, all to one end: no vector of one model in another's space, and no query without answer.

* The first provider's space serves. A new one replaces the serving space only when it is whole;
  until then its vectors gather in the cache, and the space before it serves on.
* A warm fallback's space joins when it is whole, and stays.
* A space of which a row has no vector is served all the same once it is in: that row is found by
  its words.
* The space before a migration stays for a while, fed from the cache alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import polars as pl

from memory_assets.domain.ports import Embedder, Progress, VectorCache
from memory_assets.domain.spaces import SEARCH_RECIPE, EmbeddingSpace
from memory_assets.embedding.chain import GuardedEmbedder, ProviderChain
from memory_assets.embedding.through_cache import EmbedStats
from memory_assets.errors import EmbeddingError, ProviderUnavailable
from memory_assets.steps.index.calibrate import calibrate
from memory_assets.steps.index.rows import IndexRows
from memory_assets.steps.index.stage import IndexStage
from memory_assets.storage.generations import (
    Generation,
    GenerationStore,
    MigrationNote,
    PinnedSpace,
)
from memory_assets.storage.index import SyncResult

Opener = Callable[[EmbeddingSpace], GuardedEmbedder | None]


@dataclass(frozen=True, slots=True)
class Move:
    """What a migration asks of one publication, beside what every publication does."""

    beside: GuardedEmbedder | None = None
    """A model whose space is built beside the serving one; it serves nobody yet."""
    to: GuardedEmbedder | None = None
    """A model whose space, complete already, serves from now on."""
    note: MigrationNote | None = None
    """Goes into the manifest with the swap; None when the settings name the model themselves."""
    grace: timedelta = timedelta(days=7)


@dataclass
class SpaceSet:
    """Stages of every space that the next generation names, the serving one first."""

    store: GenerationStore
    current: Generation
    rows: IndexRows
    chain: ProviderChain
    cache: VectorCache
    now: datetime
    opener: Opener
    anew: bool = False
    move: Move | None = None
    progress: Progress | None = None
    stages: list[IndexStage] = field(default_factory=list)
    building: str = ""
    stats: dict[str, EmbedStats] = field(default_factory=dict)
    """By space, of every space that a model was asked for."""
    problems: dict[str, str] = field(default_factory=dict)
    """By provider:model, the code of what kept it from its work."""
    _embedders: dict[str, Embedder] = field(default_factory=dict)

    def embed(self) -> None:
        """Fills ``stages`` and gets their vectors; nothing is written yet.

        Raises:
            ProviderUnavailable: there is no space yet, and the first provider cannot be asked.
            EmbeddingError: the first provider refused.
        """
        self.stages.append(self._first())
        for member in self.chain.with_space[1:]:
            self._warm(member)
        if self.move is not None and self.move.beside is not None:
            self._beside(self.move.beside)
        self._waiting()

    @property
    def serving(self) -> IndexStage:
        """The stage of the space that answers queries."""
        return self.stages[0]

    @property
    def asked(self) -> EmbedStats | None:
        """What it took to embed for the configured model, serving already or not."""
        return self.stats.get(self.building or self.serving.space.space_id)

    @property
    def unchanged(self) -> bool:
        """Whether the published generation names these very spaces, and their tables are right."""
        before = [(s.space.space_id, s.until) for s in self.current.spaces]
        after = [(s.space.space_id, s.until) for s in self.stages]
        return (
            before == after
            and self.building == self.current.building
            and not any(stage.differs for stage in self.stages)
        )

    def write(self, generation: int) -> list[SyncResult]:
        """Writes every space's table, in the order of the stages."""
        return [stage.write(generation) for stage in self.stages]

    def pinned(self, done: Iterable[SyncResult]) -> tuple[PinnedSpace, ...]:
        """The written versions as the manifest names them."""
        return tuple(stage.pin(one) for stage, one in zip(self.stages, done, strict=True))

    def ranking(
        self, done: Iterable[SyncResult], active: pl.DataFrame
    ) -> dict[str, Mapping[str, float]]:
        """The calibration of each space; the last known one where its model is not asked."""
        found: dict[str, Mapping[str, float]] = {}
        for stage, sync in zip(self.stages, done, strict=True):
            space_id = stage.space.space_id
            embedder = self._embedders.get(space_id)
            if embedder is not None:
                pinned = stage.index.pin(sync.version)
                found[space_id] = calibrate(pinned, active, embedder, self.cache).to_dict()
            elif space_id in self.current.ranking:
                found[space_id] = self.current.ranking[space_id]
        return found

    def to_list(self) -> list[dict[str, Any]]:
        """Each space with its role, rows and costs, for run metadata; no content."""
        shown = []
        for place, stage in enumerate(self.stages):
            role = "serves" if place == 0 else "waits" if stage.until else "warm"
            stats = self.stats.get(stage.space.space_id)
            shown.append(
                {
                    "space_id": stage.space.space_id,
                    "model": _spec(stage.space),
                    "role": role,
                    "rows": stage.target.height,
                    "pending": stage.pending,
                    **({"embedding": stats.to_metadata()} if stats else {}),
                }
            )
        return shown

    def _first(self) -> IndexStage:
        """The stage that serves: the first provider's, or the old one while that is incomplete."""
        member = self.chain.first
        serving = self.current.serving
        if self.move is not None and self.move.beside is not None and serving is not None:
            return self._stage(serving.space, self._opened(serving.space))
        if self.move is not None and self.move.to is not None:
            member = self.move.to
        try:
            space = member.space(SEARCH_RECIPE)
        except ProviderUnavailable as error:
            if serving is None:
                raise
            # Not even the name of its space can be had, so what is published serves on.
            self.problems[f"{member.provider}:{member.model}"] = error.code
            return self._stage(serving.space, self._opened(serving.space))
        stage = self._stage(space, member)
        if serving is None or serving.space == space or not stage.pending:
            return stage
        self.building = space.space_id
        return self._stage(serving.space, self._opened(serving.space))

    def _opened(self, space: EmbeddingSpace) -> GuardedEmbedder | None:
        """The embedder of the serving space, which may be of a model that is not configured."""
        first = self.chain.first
        try:
            if first.space(SEARCH_RECIPE) == space:
                return first
        except EmbeddingError:
            return None
        return self.opener(space)

    def _warm(self, member: GuardedEmbedder) -> None:
        spec = f"{member.provider}:{member.model}"
        try:
            space: EmbeddingSpace | None = member.space(SEARCH_RECIPE)
            embedder: GuardedEmbedder | None = member
        except EmbeddingError as error:
            self.problems[spec] = error.code
            own = (s.space for s in self.current.spaces if _spec(s.space) == spec)
            space, embedder = next(own, None), None
        if space is None or self._has(space):
            return
        stage = self._stage_safely(space, embedder)
        if not stage.pending or self._is_published(space):
            self.stages.append(stage)

    def _beside(self, member: GuardedEmbedder) -> None:
        assert self.move is not None
        space = member.space(SEARCH_RECIPE)
        if not self._has(space):
            self.stages.append(self._stage(space, member, self._until(self.move.grace)))

    def _waiting(self) -> None:
        """Spaces kept for a rollback, until their time is over."""
        swap = self.move is not None and self.move.to is not None
        for pinned in self.current.spaces:
            until = pinned.until
            if swap and not until and pinned == self.current.serving:
                assert self.move is not None
                until = self._until(self.move.grace)
            if until and until > self.now.isoformat() and not self._has(pinned.space):
                self.stages.append(self._stage(pinned.space, None, until))

    def _until(self, grace: timedelta) -> str:
        return (self.now + grace).isoformat()

    def _stage_safely(self, space: EmbeddingSpace, embedder: GuardedEmbedder | None) -> IndexStage:
        """A fallback that refuses must not stop the night."""
        try:
            return self._stage(space, embedder)
        except EmbeddingError as error:
            self.problems[_spec(space)] = error.code
            return self._stage(space, None)

    def _stage(
        self, space: EmbeddingSpace, embedder: Embedder | None, until: str = ""
    ) -> IndexStage:
        stage = IndexStage.open(
            self.store, self.current, self.rows, space, anew=self.anew, until=until
        )
        stage.embed(embedder, self.cache, self.progress)
        if embedder is not None:
            self._embedders[space.space_id] = embedder
        if stage.stats is not None:
            self.stats[space.space_id] = stage.stats
            if stage.stats.problem is not None:
                self.problems[_spec(space)] = stage.stats.problem.code
        return stage

    def _has(self, space: EmbeddingSpace) -> bool:
        return any(stage.space == space for stage in self.stages)

    def _is_published(self, space: EmbeddingSpace) -> bool:
        return any(s.space == space and not s.until for s in self.current.spaces)


def _spec(space: EmbeddingSpace) -> str:
    return f"{space.provider}:{space.model}"
