"""Write, audit, publish: the next generation of registry and index, or nothing at all.

One operation under one lock. What it does is decided by tables alone (decisions, review file,
intents, registry), so a run that stops anywhere loses nothing, and the next one starts from what
is there. The steps, and what a reader sees if a crash follows each, are in the architecture
decision record on publication.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl

from memory_assets.domain.allocations import Allocations, as_recorded
from memory_assets.domain.checks import (
    CheckResult,
    Staged,
    index_equals_registry,
    run_checks,
)
from memory_assets.domain.events import REUSABLE_TYPES
from memory_assets.domain.intents import RefusedIntent
from memory_assets.domain.ports import Progress, VectorCache
from memory_assets.domain.promotion import Accepted
from memory_assets.domain.schemas import REGISTRY_TABLES, SESSIONS, TOMBSTONES
from memory_assets.embedding.chain import ProviderChain, ProviderState
from memory_assets.embedding.through_cache import EmbedStats
from memory_assets.errors import ChecksFailed
from memory_assets.steps.index.rows import IndexRows
from memory_assets.steps.index.space_set import Move, Opener, SpaceSet
from memory_assets.steps.index.stage import IndexStage
from memory_assets.steps.ledgers import ingest
from memory_assets.steps.ledgers.decide import TenantRules, current_decisions
from memory_assets.steps.promotion.consolidate import Assessment, assess
from memory_assets.steps.promotion.extract import current_facts
from memory_assets.steps.promotion.planning import Plan, plan_generation
from memory_assets.steps.promotion.review_filter import NamesReader
from memory_assets.steps.promotion.settle import near_duplicates
from memory_assets.steps.registry.access import new_uses
from memory_assets.steps.registry.removal import forget_texts, scrub
from memory_assets.steps.registry.view import RegistryView
from memory_assets.steps.tables.compaction import compacted
from memory_assets.storage.deviations import stopped_tenants
from memory_assets.storage.failpoints import reached
from memory_assets.storage.generations import (
    Generation,
    GenerationStore,
    MigrationNote,
    Snapshot,
)
from memory_assets.storage.home import Home
from memory_assets.storage.index import SyncResult
from memory_assets.storage.intents import read_intents
from memory_assets.storage.locks import exclusive
from memory_assets.storage.parts import DerivedTables, Part
from memory_assets.storage.recovery import Recovery, recover
from memory_assets.storage.retention import Retention, apply_gc, plan_gc
from memory_assets.storage.review_log import read_review_log

MAX_REGISTRY_PARTS: Final = 4
"""Every read of the registry opens all of them, each for about a millisecond."""


@dataclass(frozen=True, slots=True)
class PublishSettings:
    """What publication has to know of the settings."""

    is_automatic: Callable[[str], bool] = lambda _: False
    language: Callable[[str], str] = lambda _: "it"
    idle_close: timedelta | None = None
    rules_for: Callable[[str], TenantRules] = lambda _: TenantRules()
    retention: Retention = field(default_factory=Retention)


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
    intents_applied: int = 0
    refused_intents: tuple[RefusedIntent, ...] = ()
    removed: int = 0
    """Memories that are gone from every file for good."""
    recovery: Recovery = field(default_factory=Recovery)
    """What an earlier run that stopped had left."""
    spaces: tuple[dict[str, Any], ...] = ()
    """Every embedding space with its role, rows and costs."""
    providers: tuple[ProviderState, ...] = ()
    """Every configured provider with its breaker and costs, at the end."""
    building: str = ""
    """The configured space, while it is incomplete and the one before it serves."""
    problems: Mapping[str, str] = field(default_factory=dict)
    """By provider:model, the code of what kept it from embedding."""

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
            "intents_applied": self.intents_applied,
            "intents_refused": len(self.refused_intents),
            "removed": self.removed,
        }


class Publisher:
    """Publishes one home; open for the length of one publication."""

    def __init__(
        self,
        home: Home,
        derived: DerivedTables,
        chain: ProviderChain,
        cache: VectorCache,
        settings: PublishSettings,
        *,
        run_id: str,
        now: datetime,
        progress: Progress | None = None,
        store: GenerationStore | None = None,
        opener: Opener = lambda _: None,
        move: Move | None = None,
        migration: MigrationNote | None = None,
        allocations: Allocations | None = None,
    ) -> None:
        self.home = home
        self.derived = derived
        self.chain = chain
        self.cache = cache
        self.settings = settings
        self.run_id = run_id
        self.now = now
        self.progress = progress
        self.store = store or GenerationStore(home)
        self.opener = opener
        self.move = move
        self.migration = migration
        self.allocations = allocations or {}
        self._seconds: dict[str, float] = {}

    def publish(self, *, rebuild_index: bool = False) -> PublishResult:
        """The next generation, committed; or the present one, when nothing had changed.

        ``rebuild_index`` begins the serving space's table anew and swaps it in whole, whatever
        state the old one is in.

        Raises:
            PublisherBusy: another process is publishing.
            ChecksFailed: a blocking check refused; CURRENT still names the generation before.
            CorruptStore, CurrentMissing: the home is not what was published; nothing is guessed.
        """
        with exclusive(self.home.publisher_lock, purpose="publishing"):
            reached("publish.locked")
            return self._publish(rebuild_index)

    def _publish(self, rebuild_index: bool) -> PublishResult:
        with self._timed("recover"):
            current, tag = self.store.begin()
            recovery = self._recover(current)
            reached("publish.recovered")
        with self._timed("plan"):
            before = RegistryView.of(Snapshot(self.store, current))
            assessment = assess_home(self.home, self.derived, before, self.settings, now=self.now)
            intents = read_intents(self.home).after(current.intents_through)
            uses = new_uses(
                self.home.access_log, before, generation=current.number + 1, now=self.now
            )
            accepted = self._as_recorded(assessment.accepted)
            plan = plan_generation(current, before, accepted, intents, uses, self.allocations)
            active = plan.after.active()
            rows = IndexRows(active, self._languages(active))
            reached("publish.planned")
        with self._timed("embed"):
            anew = rebuild_index or plan.rewrites
            spaces = SpaceSet(
                self.store,
                current,
                rows,
                self.chain,
                self.cache,
                self.now,
                self.opener,
                anew=anew,
                move=self.move,
                progress=self.progress,
            )
            spaces.embed()
            reached("publish.embedded")
        same = spaces.unchanged and self.migration == current.migration
        if plan.empty and same and not anew:
            return self._result(
                False, current, plan, active, spaces, None, (), assessment, recovery
            )
        with self._timed("stage"):
            tables = self._stage_parts(current, plan)
            reached("publish.parts-staged")
        with self._timed("index"):
            done = spaces.write(current.number + 1)
        with self._timed("check"):
            checks = self._check(plan, active, spaces, done)
            reached("publish.checked")
        generation = self._next(current, plan, tables, spaces, done, active)
        with self._timed("commit"):
            self._commit(generation, tag, plan)
        return self._result(
            True, generation, plan, active, spaces, done[0], checks, assessment, recovery
        )

    def _as_recorded(self, accepted: Sequence[Accepted]) -> Sequence[Accepted]:
        """In a rebuild: what was promoted once is promoted again, by the verdict of that time."""
        if not self.allocations:
            return accepted
        sessions = self.derived.read(ingest.GROUP, SESSIONS)
        decided = [current_decisions(self.derived, sessions), current_facts(self.derived, sessions)]
        return as_recorded(accepted, pl.concat(decided).iter_rows(named=True), self.allocations)

    def _recover(self, current: Generation) -> Recovery:
        recovery = recover(self.store, current)
        if current.floor == current.number and current.tables.get(TOMBSTONES.name):
            # The newest generation removed something: a crash may have cut its clean-up short.
            self._clean_up(current)
            self._collect(current)
        return recovery

    def _next(
        self,
        current: Generation,
        plan: Plan,
        tables: Mapping[str, tuple[Part, ...]],
        spaces: SpaceSet,
        done: Sequence[SyncResult],
        active: pl.DataFrame,
    ) -> Generation:
        number = current.number + 1
        with self._timed("calibrate"):
            ranking = spaces.ranking(done, active)
        return Generation(
            number=number,
            parent=current.number or None,
            published_at=self.now.isoformat(),
            run_id=self.run_id,
            tables=tables,
            spaces=spaces.pinned(done),
            counters=plan.counters,
            counts={"memories": plan.after.memories.height, "active": active.height},
            ranking=ranking,
            intents_through=plan.intents_through,
            floor=number if plan.rewrites else current.floor,
            building=spaces.building,
            migration=self.migration,
        )

    def _commit(self, generation: Generation, tag: str | None, plan: Plan) -> None:
        if plan.rewrites:
            forget_texts(self.cache, plan.before, plan.removed.keys())
        value = self.store.stage_manifest(generation)
        reached("publish.manifest-written")
        self.store.pointer.replace(value, expected_tag=tag)
        reached("publish.committed")
        if plan.rewrites:
            recover(self.store, generation)
            self._clean_up(generation)
        self._collect(generation)
        reached("publish.collected")

    def _clean_up(self, generation: Generation) -> None:
        """Everything about removed memories that lies outside the registry and its index."""
        tombstones = RegistryView.of(Snapshot(self.store, generation)).tombstones
        scrub(self.home, self.derived, self.cache, tombstones)
        reached("publish.request-redacted")

    def _collect(self, generation: Generation) -> None:
        plan = plan_gc(self.store, generation, self.settings.retention, now=self.now)
        apply_gc(self.store, generation, plan)

    def _stage_parts(self, current: Generation, plan: Plan) -> dict[str, tuple[Part, ...]]:
        """The parts of the next generation: new rows appended, or (a removal) all rows anew."""
        label = f"{current.number + 1:08d}"
        tables: dict[str, tuple[Part, ...]] = {}
        for spec in REGISTRY_TABLES:
            listed = current.tables.get(spec.name, ())
            if plan.rewrites:
                part = self.store.parts.write(spec, plan.after.tables()[spec.name], label)
                parts = [part] if part else []
            elif spec.name in plan.new:
                part = self.store.parts.write(spec, plan.new[spec.name], label)
                parts = [*listed, *([part] if part else [])]
                parts = compacted(
                    self.store.parts, spec, parts, label=label, max_parts=MAX_REGISTRY_PARTS
                )
            else:
                parts = list(listed)
            if parts:
                tables[spec.name] = tuple(parts)
        return tables

    def _check(
        self, plan: Plan, active: pl.DataFrame, spaces: SpaceSet, done: Sequence[SyncResult]
    ) -> tuple[CheckResult, ...]:
        first, *others = (
            self._staged(plan, active, stage, sync)
            for stage, sync in zip(spaces.stages, done, strict=True)
        )
        checks = run_checks(first)
        wrong = [found for o in others if not (found := index_equals_registry(o)).passed]
        checks = tuple(wrong[0] if wrong and c.name == wrong[0].name else c for c in checks)
        failed = [c for c in checks if not c.passed]
        if failed:
            what = "; ".join(f"{c.name}: {c.message} ({c.rows} rows)" for c in failed)
            raise ChecksFailed(
                f"The generation was refused by {len(failed)} check(s): {what}",
                where=str(self.home.root),
                remedy=" ".join(dict.fromkeys(c.remedy for c in failed if c.remedy))
                + f" Affected: {', '.join(e for c in failed for e in c.examples) or 'see above'}.",
                results=checks,
            )
        return checks

    def _staged(
        self, plan: Plan, active: pl.DataFrame, stage: IndexStage, sync: SyncResult
    ) -> Staged:
        pinned = stage.index.pin(sync.version)
        return Staged(
            before=plan.comparable.memories,
            after=plan.after.memories,
            corroborations=plan.after.corroborations,
            active=active,
            index_keys=pinned.keys(),
            wanted_keys=stage.target,
            index_kinds=tuple(pinned.rows(["kind"])["kind"].unique().to_list()),
        )

    def _languages(self, active: pl.DataFrame) -> dict[str, str]:
        return {t: self.settings.language(t) for t in active["tenant_id"].unique().to_list()}

    def _result(
        self,
        published: bool,
        generation: Generation,
        plan: Plan,
        active: pl.DataFrame,
        spaces: SpaceSet,
        sync: SyncResult | None,
        checks: tuple[CheckResult, ...],
        assessment: Assessment,
        recovery: Recovery,
    ) -> PublishResult:
        promotions = plan.promotions
        origins = Counter(str(memory["origin"]) for memory in promotions.memories)
        return PublishResult(
            published=published,
            generation=generation.number,
            memories=active.height,
            new_memories=len(promotions.memories),
            corroborated=len(promotions.corroborations),
            by_origin=dict(origins),
            embedded=sum(stats.computed for stats in spaces.stats.values()),
            pending=generation.serving.pending if generation.serving else 0,
            index=sync,
            embedding=spaces.asked,
            checks=checks,
            assessment=assessment,
            seconds=self._seconds,
            intents_applied=plan.intents_applied,
            refused_intents=plan.refused,
            removed=len(plan.removed),
            recovery=recovery,
            spaces=tuple(spaces.to_list()),
            providers=tuple(self.chain.states()),
            building=spaces.building,
            problems=dict(spaces.problems),
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
    only_reviewed: bool = False,
    settled: bool = True,
) -> Assessment:
    """Where every clarification stands, read from the tables of a home.

    ``only_reviewed`` looks at those alone that the review file speaks of. Without ``settled`` the
    verdicts on near duplicates are left aside.
    """
    sessions = derived.read(ingest.GROUP, SESSIONS)
    halted = sorted(stopped_tenants(home.preflight))
    if halted:
        stays = pl.when(pl.col("tenant_id").is_in(halted)).then(pl.lit("preflight"))
        sessions = sessions.with_columns(stays.otherwise("status").alias("status"))
    reviews = read_review_log(home.review_decisions)
    where = pl.col("type").is_in(sorted(REUSABLE_TYPES))
    if only_reviewed:
        where &= pl.col("session_id").is_in(sorted({d.session_id for _, d in reviews.decisions}))
    decisions = current_decisions(derived, sessions, where=where)
    facts = current_facts(derived, sessions, where=where)
    return assess(
        pl.concat([decisions, facts]),
        sessions,
        registry,
        reviews,
        now=now,
        is_automatic=settings.is_automatic,
        idle_close=settings.idle_close,
        names_of=NamesReader(derived, sessions, settings.rules_for),
        near=near_duplicates(derived) if settled else None,
    )
