"""One installation, wired: the settings, the stores they name, and the embedder."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path

from memory_assets.domain.allocations import Allocations
from memory_assets.domain.ports import Embedder, Progress, VectorCache
from memory_assets.domain.schemas import SESSIONS, TOMBSTONES
from memory_assets.embedding.cache import VECTORS, SqliteVectorCache
from memory_assets.embedding.chain import ProviderChain
from memory_assets.embedding.probes import PROBES, keep_probes
from memory_assets.settings import Settings, load_settings
from memory_assets.steps.index.embedding_setup import EmbeddingSetup
from memory_assets.steps.index.provider_states import note_states
from memory_assets.steps.index.space_set import Move
from memory_assets.steps.ledgers.decide import DecideResult, TenantRules, decide
from memory_assets.steps.ledgers.ingest import GROUP as INGEST_GROUP
from memory_assets.steps.ledgers.ingest import IngestResult, ingest
from memory_assets.steps.ledgers.wakeup import Waiting, waiting_sessions
from memory_assets.steps.merge.proposal_kinds import KINDS
from memory_assets.steps.merge.settle_policy import settle_automatic
from memory_assets.steps.promotion.candidates import CandidatesResult, derive_candidates
from memory_assets.steps.promotion.consolidate import Assessment
from memory_assets.steps.promotion.extract import ExtractResult
from memory_assets.steps.promotion.extraction import extract_facts
from memory_assets.steps.promotion.markers import MarkersResult, owed_markers, write_markers
from memory_assets.steps.promotion.publish import (
    Publisher,
    PublishResult,
    PublishSettings,
    assess_home,
)
from memory_assets.steps.promotion.review_filter import NamesReader
from memory_assets.steps.registry.allocations import record_allocations
from memory_assets.steps.registry.as_of import generation_at, parse_as_of
from memory_assets.steps.registry.neighbours import NeighbourSearch
from memory_assets.steps.registry.view import RegistryView
from memory_assets.steps.review.proposals import Judged, State, judged_proposals, settle_proposals
from memory_assets.steps.review.queue import QueueResult, derive_queue, judged_pairs
from memory_assets.steps.search.options import search_options
from memory_assets.steps.search.searcher import Searcher
from memory_assets.steps.search.types import SearchRequest, SearchResult
from memory_assets.storage.generations import (
    Generation,
    GenerationStore,
    MigrationNote,
    Snapshot,
)
from memory_assets.storage.home import Home
from memory_assets.storage.ledgers import SessionFiles
from memory_assets.storage.locks import exclusive
from memory_assets.storage.migrations import (
    MigrationPlan,
    migrate,
    plan_migration,
    refuse_older,
)
from memory_assets.storage.parts import DerivedTables
from memory_assets.storage.retention import Retention
from memory_assets.storage.review_log import ReviewLog, read_review_log
from memory_assets.storage.views import write_views

MB = 1024 * 1024


@dataclass(frozen=True)
class Workspace:
    """The use cases of one installation; entry points call these and nothing below them."""

    settings: Settings

    @classmethod
    def load(cls, **flags: str | None) -> Workspace:
        """The workspace that flags, environment and ``<home>/settings.toml`` describe.

        Raises:
            SettingsError: with every problem in one message.
        """
        return cls(load_settings(flags=flags))

    @cached_property
    def home(self) -> Home:
        """The home folder; not created by looking at it."""
        return Home(self.settings.home)

    @cached_property
    def derived(self) -> DerivedTables:
        """Tables that can be rebuilt from the ledgers."""
        return DerivedTables(self.home.derived)

    @cached_property
    def generations(self) -> GenerationStore:
        """The published generations."""
        return GenerationStore(self.home)

    @cached_property
    def embedding(self) -> EmbeddingSetup:
        """The configured providers, their options, and this run's budget."""
        return EmbeddingSetup.of(self.settings, self.home.cache, self.home.probes)

    @property
    def chain(self) -> ProviderChain:
        """The providers in force: those of the settings, or what a migration made of them."""
        return self.embedding.chain_for(self.generations.current()[0])

    @property
    def embedding_spec(self) -> str:
        """PROVIDER:MODEL of the embedder in force."""
        return f"{self.embedder.provider}:{self.embedder.model}"

    @property
    def embedder(self) -> Embedder:
        """The first provider in force; a local model loads at first use."""
        return self.chain.first

    @cached_property
    def cache(self) -> VectorCache:
        """The shared vector cache."""
        limit = int(self.settings.number("embedding_cache_mb") * MB)
        return SqliteVectorCache(self.home.cache / VECTORS, limit)

    @property
    def publish_settings(self) -> PublishSettings:
        """What publication has to know of the settings."""
        hours = self.settings.number("idle_close_hours")
        return PublishSettings(
            is_automatic=lambda t: self.settings.tenant(t).review == "automatic",
            language=lambda t: self.settings.tenant(t).language,
            rules_for=self.tenant_rules,
            idle_close=timedelta(hours=hours) if hours else None,
            retention=Retention(
                int(self.settings.number("keep_generations")),
                timedelta(days=self.settings.number("keep_days")),
            ),
        )

    def tenant_rules(self, tenant_id: str) -> TenantRules:
        """What of the tenant's settings shapes its decisions."""
        tenant = self.settings.tenant(tenant_id)
        return TenantRules(
            tenant.schema_table_patterns,
            tenant.refuse_column_names,
            user_owns=tenant.privacy_default == "user",
            client_names=tenant.client_names,
        )

    def client_names(self, tenant_id: str) -> tuple[str, ...]:
        """The names that count as personal data of this tenant."""
        return self.settings.tenant(tenant_id).client_names

    def ingest(
        self,
        *,
        chosen: Callable[[SessionFiles], bool] | None = None,
        progress: Progress | None = None,
    ) -> IngestResult:
        """Events, quarantine and watermarks brought up to date with the ledgers.

        Only ``chosen`` sessions are opened when that is given; see ``Selection``.
        """
        with self._deriving():
            return ingest(
                self.settings.ledgers,
                self.derived,
                is_known_tenant=self.settings.is_known,
                is_switched_off=self.settings.is_switched_off,
                buried=self.generations.snapshot().table(TOMBSTONES),
                chosen=chosen or (lambda _: True),
                progress=progress,
            )

    def decide(self) -> DecideResult:
        """The decisions table brought up to date with the events."""
        with self._deriving():
            return decide(self.derived, rules_for=self.tenant_rules)

    def extract(self, *, now: datetime) -> ExtractResult:
        """The facts brought up to date with the free-text events of finished sessions."""
        with self._deriving():
            return extract_facts(self.home, self.derived, self.settings, self.tenant_rules, now=now)

    @cached_property
    def searcher(self) -> Searcher:
        """Answers searches; keeps the newest generation open between them."""
        return Searcher(
            self.generations,
            lambda: self.embedder,
            search_options(self.settings, self.derived),
            chain_for=self.embedding.chain_for,
            opener=self.embedding.for_space,
            ledgers=lambda: self.settings.ledgers,
        )

    def search(self, request: SearchRequest) -> SearchResult:
        """The best memories for a query that the principal may see; see ``Searcher.search``."""
        return self.searcher.search(request)

    def registry(self, as_of: str | None = None) -> RegistryView:
        """The published registry, or as it was at a generation or time.

        Raises:
            UnknownGeneration: there is none of that number or time to read.
        """
        if as_of is None:
            return RegistryView.of(self.generations.snapshot())
        generation = generation_at(self.generations, parse_as_of(as_of))
        return RegistryView.of(Snapshot(self.generations, generation))

    def assess(self, *, now: datetime) -> Assessment:
        """Where every clarification stands."""
        return assess_home(self.home, self.derived, self.registry(), self.publish_settings, now=now)

    @property
    def schema_names(self) -> NamesReader:
        """What counts as a bare schema name in each session."""
        sessions = self.derived.read(INGEST_GROUP, SESSIONS)
        return NamesReader(self.derived, sessions, self.tenant_rules)

    def derive_candidates(self, *, now: datetime) -> CandidatesResult:
        """The candidates table, replaced whole."""
        with self._deriving():
            return derive_candidates(self.derived, self.assess(now=now))

    def review_log(self) -> ReviewLog:
        """The reviewers' file as it is now."""
        return read_review_log(self.home.review_decisions)

    def proposals(self, *, now: datetime, registry: RegistryView | None = None) -> Judged:
        """Proposals about published memories, each with the verdict in force on it."""
        state = State(registry or self.registry(), self.derived, self.home)
        return judged_proposals(state, self.review_log(), KINDS, now=now)

    def derive_queue(self, *, now: datetime, progress: Progress | None = None) -> QueueResult:
        """The review queue's table, replaced whole."""
        registry = self.registry()
        try:
            return derive_queue(
                self.derived,
                self.assess(now=now),
                self.proposals(now=now, registry=registry),
                registry,
                NeighbourSearch(self.embedder, self.cache, progress, judged_pairs(self.derived)),
                now=now,
                committing=self._deriving(),
            )
        finally:
            # The last step of a night that embeds: what it and the merge cost belongs to the run.
            states = self.chain.states()
            if any(state.requests for state in states):
                note_states(self.home.cache, states, now=now)

    def settle_duplicates(self, *, now: datetime) -> None:
        """Near duplicates among what the automatic policy would accept, judged anew."""
        if not any(tenant.is_automatic for tenant in self.settings.tenants.values()):
            return
        registry = self.registry()
        found = assess_home(
            self.home, self.derived, registry, self.publish_settings, now=now, settled=False
        )
        with self._deriving():
            settle_automatic(
                self.settings, self.derived, found, registry, lambda: self.embedder, self.cache
            )

    def settle_proposals(self, *, now: datetime) -> int:
        """Count of intents that accepted proposals gave rise to; publication applies them."""
        through = self.generations.current()[0].intents_through
        state = State(self.registry(), self.derived, self.home)
        return settle_proposals(state, self.review_log(), KINDS, through=through, now=now)

    def waiting_sessions(self) -> Waiting:
        """Finished sessions that are new or have grown since the last night."""
        return waiting_sessions(
            self.settings.ledgers, self.derived, is_known_tenant=self.settings.is_known
        )

    def write_views(self) -> Path:
        """The SQL views over the published registry, written anew."""
        return write_views(self.home, self.generations.current()[0])

    def publish(
        self,
        *,
        run_id: str,
        now: datetime,
        progress: Progress | None = None,
        rebuild_index: bool = False,
        move: Move | None = None,
        allocations: Allocations | None = None,
    ) -> PublishResult:
        """The next generation, committed; or the present one, when nothing had changed.

        ``rebuild_index`` begins the index anew, whatever state it is in; ``move`` is a step of a
        migration to another embedding model.
        """
        refuse_older(self.home)
        self.settle_proposals(now=now)
        self.settle_duplicates(now=now)
        current = self.generations.current()[0]
        chain = self.embedding.chain_for(current)
        result = Publisher(
            self.home.ensure(),
            self.derived,
            chain,
            self.cache,
            self.publish_settings,
            run_id=run_id,
            now=now,
            progress=progress,
            opener=self.embedding.for_space,
            move=move,
            migration=self._migration(current, move),
            allocations=allocations,
        ).publish(rebuild_index=rebuild_index)
        record_allocations(self.home, self.registry())
        keep_probes(self.home.cache / PROBES, self.home.probes)
        note_states(self.home.cache, result.providers, now=now)
        return result

    def _migration(self, current: Generation, move: Move | None) -> MigrationNote | None:
        """The migration in force after a publication; a changed setting ends one."""
        if move is not None and move.to is not None:
            return move.note
        found = current.migration
        return found if found and found.instead_of == self.embedding.specs[0] else None

    def plan_migration(self) -> MigrationPlan:
        """What would bring this home to the form of this version of the package."""
        return plan_migration(self.home)

    def migrate(self) -> MigrationPlan:
        """The home brought to the form of this version of the package."""
        return migrate(self.home)

    def mark(self, *, now: datetime, progress: Progress | None = None) -> MarkersResult:
        """Markers of published verdicts, written to the companion files and read back at once.

        Reading them back keeps our own rows from making the next night read every session again.
        """
        with exclusive(self.home.publisher_lock, purpose="writing markers"):
            registry = self.registry()
            reviewed = assess_home(
                self.home,
                self.derived,
                registry,
                self.publish_settings,
                now=now,
                only_reviewed=True,
            )
            owed = owed_markers(self.derived, registry, reviewed)
            result = write_markers(self.settings.ledgers, owed, now=now, progress=progress)
        if result.owed:
            # Others may wait on purpose: a backfill in pieces must not take them in here.
            marked = set(owed.select("tenant_id", "session_id").unique().rows())
            self.ingest(chosen=lambda files: files.key in marked)
            self.decide()
            self.extract(now=now)
        return result

    def _deriving(self) -> AbstractContextManager[None]:
        return exclusive(self.home.derived_lock, purpose="reading ledgers", wait=True)
