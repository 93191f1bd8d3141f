"""Write, audit, publish: the next generation of registry and index, or nothing at all.

One operation under one lock. What it does is decided by tables alone (decisions, review file,
registry), so a run that stops anywhere loses nothing, and the next one starts from what is there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl

from memory_assets.domain.checks import CheckResult, Staged, run_checks
from memory_assets.domain.ports import Embedder, Progress, VectorCache, Vectors
from memory_assets.domain.promotion import PromotionPlan, plan_promotions
from memory_assets.domain.schemas import CORROBORATIONS, MEMORIES, SESSIONS, TableSpec
from memory_assets.domain.spaces import SEARCH_RECIPE
from memory_assets.embedding.through_cache import EmbedStats, embed_through_cache
from memory_assets.errors import ChecksFailed, CorruptStore
from memory_assets.pipeline import ingest
from memory_assets.pipeline.consolidate import Assessment, assess
from memory_assets.pipeline.decide import current_decisions
from memory_assets.pipeline.frames import frame_of
from memory_assets.pipeline.index_rows import IndexRows
from memory_assets.pipeline.registry_view import RegistryView
from memory_assets.storage.failpoints import reached
from memory_assets.storage.generations import Generation, GenerationStore, PinnedSpace
from memory_assets.storage.home import Home
from memory_assets.storage.index import SpaceIndex, SyncResult
from memory_assets.storage.index_diff import difference
from memory_assets.storage.index_files import discard_after
from memory_assets.storage.index_pinned import table_path
from memory_assets.storage.locks import exclusive
from memory_assets.storage.parts import DerivedTables, Part
from memory_assets.storage.review_log import read_review_log

STAGED_TAG: Final = "staged"


@dataclass(frozen=True, slots=True)
class PublishSettings:
    """What publication has to know of the settings."""

    is_automatic: Callable[[str], bool] = lambda _: False
    language: Callable[[str], str] = lambda _: "it"
    idle_close: timedelta | None = None
    keep_generations: int = 7


@dataclass(frozen=True, slots=True)
class PublishResult:
    """What a publication did; ``published`` is false when nothing had changed."""

    published: bool
    generation: int
    memories: int
    """Active memories of the generation."""
    new_memories: int
    corroborated: int
    by_origin: Mapping[str, int]
    embedded: int
    """Texts that the model had to be asked for."""
    pending: int
    index: SyncResult | None
    embedding: EmbedStats | None
    checks: tuple[CheckResult, ...]
    assessment: Assessment
    seconds: Mapping[str, float] = field(default_factory=dict)

    def to_metadata(self) -> dict[str, Any]:
        """Counts for the run's metadata; no content."""
        return {
            "published": self.published,
            "generation": self.generation,
            "memories": self.memories,
            "new_memories": self.new_memories,
            "corroborated": self.corroborated,
            "embedded": self.embedded,
            "pending_vectors": self.pending,
        }


class Publisher:
    """Publishes one home; open for the length of one publication."""

    def __init__(
        self,
        home: Home,
        derived: DerivedTables,
        embedder: Embedder,
        cache: VectorCache,
        settings: PublishSettings,
        *,
        run_id: str,
        now: datetime,
        progress: Progress | None = None,
    ) -> None:
        self.home = home
        self.derived = derived
        self.embedder = embedder
        self.cache = cache
        self.settings = settings
        self.run_id = run_id
        self.now = now
        self.progress = progress
        self.store = GenerationStore(home)
        self._seconds: dict[str, float] = {}

    def publish(self) -> PublishResult:
        """The next generation, committed; or the present one, when nothing had changed.

        Raises:
            PublisherBusy: another process is publishing.
            ChecksFailed: a blocking check refused; CURRENT still names the generation before.
            CorruptStore, CurrentMissing: the home is not what was published; nothing is guessed.
        """
        with exclusive(self.home.publisher_lock, purpose="publishing"):
            reached("publish.locked")
            return self._publish()

    def _publish(self) -> PublishResult:
        with self._timed("recover"):
            current, tag = self.store.current(verify=True)
            before = RegistryView.of(self.store.snapshot())
            self._recover_index(current)
            reached("publish.recovered")
        with self._timed("plan"):
            assessment = assess_home(
                self.home, self.derived, before, self.settings, now=self.now
            )
            plan = plan_promotions(
                assessment.accepted,
                before.known(dict(current.counters)),
                generation=current.number + 1,
            )
            after = before.with_new(_frame(MEMORIES, plan.memories), _corroborations(plan))
            active = after.active()
            rows = IndexRows(active, self._languages(active))
            reached("publish.planned")
        space = self.embedder.space(SEARCH_RECIPE)
        index = SpaceIndex.open(self.home.index, space)
        with self._timed("embed"):
            vectors, stats = self._embed(index, rows)
            missing = frozenset(rows.texts) - vectors.keys() - self._indexed(index, rows)
            reached("publish.embedded")
        target = rows.keys(missing)
        served = current.serving
        same_space = served is not None and served.space == space
        if plan.empty and same_space and not self._differs(index, target, served):
            return self._result(False, current, plan, active, None, stats, (), assessment)
        with self._timed("stage"):
            tables = self._stage_parts(current, plan)
            reached("publish.parts-staged")
        with self._timed("index"):
            sync = index.sync(target, lambda ks: rows.table(ks, vectors, space.dimension))
            reached("publish.index-synced")
            index.tag(STAGED_TAG, sync.version)
            reached("publish.index-tagged")
            known = served.version if served is not None and same_space else None
            index.fsync_new(known)
            reached("publish.index-durable")
        with self._timed("check"):
            checks = self._check(before, after, active, index, sync, target)
            reached("publish.checked")
        pinned = PinnedSpace(space, sync.version, sync.rows, sync.pending)
        generation = Generation(
            number=current.number + 1,
            parent=current.number or None,
            published_at=self.now.isoformat(),
            run_id=self.run_id,
            tables=tables,
            spaces=(pinned,),
            counters=plan.counters,
            counts={"memories": after.memories.height, "active": active.height},
        )
        with self._timed("commit"):
            value = self.store.stage_manifest(generation)
            reached("publish.manifest-written")
            self.store.pointer.replace(value, expected_tag=tag)
            reached("publish.committed")
            index.tag(f"gen-{generation.number:08d}", sync.version)
            index.untag(STAGED_TAG)
            reached("publish.generation-tagged")
            collect(self.store, index, self.settings.keep_generations)
            reached("publish.collected")
        return self._result(True, generation, plan, active, sync, stats, checks, assessment)

    def _recover_index(self, current: Generation) -> None:
        """Takes back unpublished index versions that cannot even be opened.

        All other leftovers of a run that stopped are absorbed by the next difference.
        """
        space = self.embedder.space(SEARCH_RECIPE)
        folder = table_path(self.home.index, space.space_id)
        if not folder.exists():
            return
        published = next((s.version for s in current.spaces if s.space == space), None)
        try:
            SpaceIndex.open(self.home.index, space)
        except CorruptStore:
            discard_after(folder, published or 0)

    def _embed(
        self, index: SpaceIndex, rows: IndexRows
    ) -> tuple[dict[str, Vectors], EmbedStats | None]:
        """Vectors of the rows that the index lacks, before anything is written."""
        change = difference(index.pin(index.version).keys(), rows.keys())
        keys = change.to_fetch
        if not keys:
            return {}, None
        found, stats = embed_through_cache(
            self.embedder,
            self.cache,
            [rows.texts[k] for k in keys],
            kind="document",
            progress=self.progress,
            allow_missing=True,
        )
        usable = {k: v for k, v in zip(keys, found, strict=True) if v[0] == v[0]}  # NaN: missing
        return usable, stats

    def _indexed(self, index: SpaceIndex, rows: IndexRows) -> set[str]:
        """Rows that the head of the index holds already, vector included."""
        head = index.pin(index.version).keys().filter("has_vector")
        same = head.join(rows.keys(), on=["row_key", "index_sha256"], how="semi")
        return set(same["row_key"].to_list())

    def _differs(
        self, index: SpaceIndex, target: pl.DataFrame, served: PinnedSpace | None
    ) -> bool:
        """Whether the published index version is not what the registry asks for."""
        if served is None:
            return True
        return bool(difference(index.pin(served.version).keys(), target))

    def _stage_parts(
        self, current: Generation, plan: PromotionPlan
    ) -> dict[str, tuple[Part, ...]]:
        label = f"{current.number + 1:08d}"
        tables = dict(current.tables)
        for spec, rows in ((MEMORIES, plan.memories), (CORROBORATIONS, plan.corroborations)):
            part = self.store.parts.write(spec, _frame(spec, rows), label)
            if part is not None:
                tables[spec.name] = (*tables.get(spec.name, ()), part)
        return tables

    def _check(
        self,
        before: RegistryView,
        after: RegistryView,
        active: pl.DataFrame,
        index: SpaceIndex,
        sync: SyncResult,
        target: pl.DataFrame,
    ) -> tuple[CheckResult, ...]:
        pinned = index.pin(sync.version)
        kinds = tuple(pinned.rows(["kind"])["kind"].unique().to_list())
        checks = run_checks(
            Staged(
                before=before.memories,
                after=after.memories,
                corroborations=after.corroborations,
                active=active,
                index_keys=pinned.keys(),
                wanted_keys=target,
                index_kinds=kinds,
            )
        )
        failed = [c for c in checks if not c.passed]
        if failed:
            what = "; ".join(f"{c.name}: {c.message} ({c.rows} rows)" for c in failed)
            raise ChecksFailed(
                f"The generation was refused by {len(failed)} check(s): {what}",
                where=str(self.home.root),
                remedy="CURRENT still names the generation before. "
                f"Affected: {', '.join(e for c in failed for e in c.examples) or 'see above'}.",
            )
        return checks

    def _languages(self, active: pl.DataFrame) -> dict[str, str]:
        return {t: self.settings.language(t) for t in active["tenant_id"].unique().to_list()}

    def _result(
        self,
        published: bool,
        generation: Generation,
        plan: PromotionPlan,
        active: pl.DataFrame,
        sync: SyncResult | None,
        stats: EmbedStats | None,
        checks: tuple[CheckResult, ...],
        assessment: Assessment,
    ) -> PublishResult:
        origins: dict[str, int] = {}
        for memory in plan.memories:
            origins[memory["origin"]] = origins.get(memory["origin"], 0) + 1
        return PublishResult(
            published=published,
            generation=generation.number,
            memories=active.height,
            new_memories=len(plan.memories),
            corroborated=len(plan.corroborations),
            by_origin=origins,
            embedded=stats.computed if stats else 0,
            pending=generation.serving.pending if generation.serving else 0,
            index=sync,
            embedding=stats,
            checks=checks,
            assessment=assessment,
            seconds=self._seconds,
        )

    def _timed(self, step: str) -> _Timer:
        return _Timer(self._seconds, step)


class _Timer:
    def __init__(self, seconds: dict[str, float], step: str) -> None:
        self._seconds = seconds
        self._step = step

    def __enter__(self) -> None:
        self._began = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._seconds[self._step] = round(time.perf_counter() - self._began, 3)


def assess_home(
    home: Home,
    derived: DerivedTables,
    registry: RegistryView,
    settings: PublishSettings,
    *,
    now: datetime,
) -> Assessment:
    """Where every clarification stands, read from the tables of a home."""
    sessions = derived.read(ingest.GROUP, SESSIONS)
    return assess(
        current_decisions(derived, sessions),
        sessions,
        registry,
        read_review_log(home.review_decisions),
        now=now,
        is_automatic=settings.is_automatic,
        idle_close=settings.idle_close,
    )


def collect(store: GenerationStore, index: SpaceIndex, keep: int) -> list[int]:
    """Numbers of the generations that were removed: all but the newest ``keep``.

    Their index tags go first, then the manifest folder; index versions that no tag protects are
    cleaned up. Registry parts are append-only and shared by all later generations: they stay.
    """
    current, _ = store.current()
    old = [n for n in store.kept() if n <= current.number - keep]
    for number in old:
        index.untag(f"gen-{number:08d}")
        folder = store.home.generations / f"{number:08d}"
        (folder / "manifest.json").unlink(missing_ok=True)
        folder.rmdir()
    if old:
        index.cleanup(2)
    return old


def _frame(spec: TableSpec, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    names = spec.names()
    return frame_of(spec, [tuple(r[c] for c in names) for r in rows])


def _corroborations(plan: PromotionPlan) -> pl.DataFrame:
    return _frame(CORROBORATIONS, plan.corroborations)
