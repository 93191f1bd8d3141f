"""Moving to another embedding model: estimated, built beside the old space, compared, swapped once.

Three publications' worth of safety in two: the first adds the new space, which serves nobody yet;
the second puts it in front. Both are ordinary generations, so a kill between them costs nothing,
and what was embedded is in the cache: the same command goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from memory_assets.domain.ports import Progress
from memory_assets.domain.spaces import SEARCH_RECIPE, EmbeddingSpace, text_sha256
from memory_assets.domain.visibility import Principal
from memory_assets.embedding.chain import GuardedEmbedder
from memory_assets.embedding.hosted import HostedEmbedder
from memory_assets.embedding.model_folders import folder_named
from memory_assets.errors import EmbeddingError, SpaceMismatch, UsageError
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.index.rows import IndexRows
from memory_assets.steps.index.space_set import Move
from memory_assets.steps.promotion.publish import PublishResult
from memory_assets.steps.search.evaluate import Evaluation, evaluate
from memory_assets.steps.search.evaluation_cases import Case, ledger_cases
from memory_assets.steps.search.searcher import Searcher
from memory_assets.steps.search.state import ServedGeneration
from memory_assets.storage.generations import Generation, MigrationNote, PinnedSpace

QUESTIONS: Final = 200
"""Questions on which both spaces are compared: a sample, since hosted models charge for each."""
_BYTES_PER_TOKEN: Final = 3
"""Of English and Italian text, rather few: an estimate should not be too low."""


@dataclass(frozen=True, slots=True)
class MigrationEstimate:
    """What a migration would take; nothing was asked of the model."""

    spec: str
    memories: int
    texts: int
    """Different texts."""
    cached: int
    """Of these, how many have a vector already."""
    tokens: int
    dollars: float
    dollars_per_million_tokens: float
    budget_dollars: float | None
    """What one run may spend; more than that takes several."""
    serves: bool = False
    """Whether it serves already: then only other weights behind its name would be embedded."""

    def to_dict(self) -> dict[str, Any]:
        """The estimate as ``--json`` prints it."""
        return {**asdict(self), "to_embed": self.texts - self.cached}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both spaces on the same questions, before the swap."""

    questions: int
    before: dict[str, dict[str, float]]
    """Leg → figures, in the space that serves."""
    after: dict[str, dict[str, float]]

    def to_dict(self) -> dict[str, Any]:
        """The comparison as ``--json`` prints it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class MigrationResult:
    """What a migration, or its way back, came to."""

    spec: str
    swapped: bool
    generation: int
    pending: int
    """Texts that the new space still lacks; above 0 nothing was swapped."""
    tokens: int = 0
    dollars: float = 0.0
    problem: str = ""
    comparison: Comparison | None = None
    kept_until: str = ""
    """How long the former space stays ready for a rollback."""

    def to_dict(self) -> dict[str, Any]:
        """The result as ``--json`` prints it."""
        return asdict(self)

    def to_metadata(self) -> dict[str, Any]:
        """Counts and figures for the run's metadata; no content."""
        found = {k: v for k, v in self.to_dict().items() if k != "comparison"}
        if self.comparison is not None:
            found["questions"] = self.comparison.questions
            for name, legs in (
                ("before", self.comparison.before),
                ("after", self.comparison.after),
            ):
                found |= {f"{name}_{k}": v for k, v in legs.get("hybrid", {}).items()}
        return found


def estimate(workspace: Workspace, spec: str) -> MigrationEstimate:
    """What moving to ``spec`` would embed and cost; no request is made.

    Raises:
        SettingsError, ModelNotFound: there is no such model.
    """
    spec = settled(spec)
    member = workspace.embedding.chain((spec,)).first
    active = workspace.registry().active()
    rows = IndexRows(active, {})
    texts = {text_sha256(t): t for t in rows.texts(sorted(rows.all_keys))}
    cached: set[str] = set()
    serving = workspace.generations.current()[0].serving
    serves = False
    if not isinstance(member.inner, HostedEmbedder) or member.inner.fingerprint_is_known:
        space = member.space(SEARCH_RECIPE)
        serves = serving is not None and serving.space == space
        cached = set(workspace.cache.get(space.model_key, "document", list(texts)))
    price = 0.0
    if isinstance(member.inner, HostedEmbedder):
        price = member.inner.card.dollars_per_million_tokens
    tokens = sum(
        len(t.encode()) // _BYTES_PER_TOKEN + 1 for h, t in texts.items() if h not in cached
    )
    return MigrationEstimate(
        spec,
        active.height,
        len(texts),
        len(cached),
        tokens,
        round(tokens * price / 1e6, 6),
        price,
        workspace.embedding.budget.limit_dollars,
        serves,
    )


def settled(spec: str) -> str:
    """``spec``, a folder by its whole path: a manifest is read from other folders, too."""
    provider, _, model = spec.partition(":")
    folder = folder_named(model) if provider == "local" and model else None
    return f"local:{folder.resolve()}" if folder else spec


def migrate(
    workspace: Workspace, spec: str, *, now: datetime, progress: Progress | None = None
) -> MigrationResult:
    """The registry served from the space of ``spec``, or all that could be built of it this time.

    The settings need no change: the manifest remembers the migration, until somebody sets
    ``embedding`` anew.

    Raises:
        UsageError: nothing is published yet.
        PublisherBusy, ChecksFailed, StoreError, EmbeddingError: see ``Publisher.publish``.
    """
    spec = settled(spec)
    current, _ = workspace.generations.current()
    if current.serving is None:
        raise UsageError(
            "Nothing is published yet, so there is nothing to migrate.",
            remedy="set `embedding` and run `memory-assets nightly`.",
        )
    member = workspace.embedding.chain((spec,)).first
    _settle_weights(member)
    space = member.space(SEARCH_RECIPE)
    note = _note(workspace, spec)
    if current.serving.space == space and current.migration == note:
        return _result(spec, current, space, member, swapped=False, problem="it serves already")
    grace = timedelta(days=workspace.settings.number("embedding_grace_days"))
    if current.serving.space != space:
        built = _publish(workspace, "build", Move(beside=member, grace=grace), now, progress)
        current, _ = workspace.generations.current()
        pinned = _pinned(current, space)
        if pinned.pending:
            problem = built.problems.get(spec, "some vectors are missing")
            return _result(spec, current, space, member, swapped=False, problem=problem)
    compared = compare(workspace, current, space, member, now=now)
    done = _publish(workspace, "migrate", Move(to=member, note=note, grace=grace), now, progress)
    return _settled(workspace, spec, space, member, done, compared)


def roll_back(
    workspace: Workspace, *, now: datetime, progress: Progress | None = None
) -> MigrationResult:
    """The registry served from the space that served before the last migration.

    Memories that came since are embedded with its model first; without it nothing is swapped.

    Raises:
        UsageError: no former space is kept any more.
        SpaceMismatch: its model cannot be had as it was.
    """
    current, _ = workspace.generations.current()
    pinned = _former(workspace, current)
    spec = workspace.embedding.spec_of(pinned.space, also=_named(workspace, current))
    if spec is None:
        spec = f"{pinned.space.provider}:{pinned.space.model}"
        raise SpaceMismatch(
            f"{spec} cannot be had as it was when its space {pinned.space.space_id} was built.",
            remedy="`memory-assets doctor` says what is wrong with it; or run "
            f"`memory-assets embedding migrate --to {spec}`. A model in a folder is named by its "
            "path, `local:/folder`, and its files must be the same.",
        )
    member = workspace.embedding.chain((spec,)).first
    grace = timedelta(days=workspace.settings.number("embedding_grace_days"))
    move = Move(to=member, note=_note(workspace, spec), grace=grace)
    done = _publish(workspace, "rollback", move, now, progress)
    return _settled(workspace, spec, pinned.space, member, done, None)


def compare(
    workspace: Workspace,
    generation: Generation,
    space: EmbeddingSpace,
    member: GuardedEmbedder,
    *,
    now: datetime,
) -> Comparison | None:
    """The serving space and another one of the same generation, on what the ledgers imply.

    None without questions, or without the model that serves now.
    """
    assert generation.serving is not None
    store = workspace.generations
    cases = _sample(ledger_cases(workspace.derived, ServedGeneration(store, generation)))
    old = workspace.embedding.for_space(generation.serving.space)
    if old is None or not cases:
        return None
    who = Principal(cases[0].tenant_id, "ADMIN", more_tenants=frozenset(c.tenant_id for c in cases))
    try:
        found = [
            evaluate(
                _InFront(workspace, generation, pinned),
                cases,
                who,
                embedder=embedder,
                cache=workspace.cache,
                now=now,
            )
            for pinned, embedder in (
                (generation.serving, old),
                (_pinned(generation, space), member),
            )
        ]
    except EmbeddingError:
        return None  # half a comparison would mislead, and it must not stop the migration
    return Comparison(found[0].cases, _figures(found[0]), _figures(found[1]))


class _InFront(Searcher):
    """A searcher of one generation in which a given space serves."""

    def __init__(self, workspace: Workspace, generation: Generation, pinned: PinnedSpace) -> None:
        store = workspace.generations
        super().__init__(store, lambda: workspace.embedder, workspace.searcher.options)
        rest = (s for s in generation.spaces if s != pinned)
        self._fixed = ServedGeneration(store, replace(generation, spaces=(pinned, *rest)))

    def served(
        self, as_of: datetime | int | None = None, *, afresh: bool = False
    ) -> ServedGeneration:
        """The generation as it would be."""
        return self._fixed


def _settle_weights(member: GuardedEmbedder) -> None:
    """Whoever migrates to a name wants the weights that answer under it today."""
    if isinstance(member.inner, HostedEmbedder):
        try:
            member.inner.verify(now_in_any_case=True)
        except SpaceMismatch:
            member.inner.accept_new_weights()


def _note(workspace: Workspace, spec: str) -> MigrationNote | None:
    named = workspace.embedding.specs[0]
    return None if settled(named) == spec else MigrationNote(chosen=spec, instead_of=named)


def _publish(
    workspace: Workspace, what: str, move: Move, now: datetime, progress: Progress | None
) -> PublishResult:
    run_id = f"embedding-{what}-{uuid.uuid4()}"
    return workspace.publish(run_id=run_id, now=now, progress=progress, move=move)


def _settled(
    workspace: Workspace,
    spec: str,
    space: EmbeddingSpace,
    member: GuardedEmbedder,
    done: PublishResult,
    compared: Comparison | None,
) -> MigrationResult:
    current, _ = workspace.generations.current()
    swapped = current.serving is not None and current.serving.space == space
    problem = "" if swapped else done.problems.get(spec, "some vectors are missing")
    found = _result(spec, current, space, member, swapped=swapped, problem=problem)
    return replace(found, comparison=compared)


def _result(
    spec: str,
    current: Generation,
    space: EmbeddingSpace,
    member: GuardedEmbedder,
    *,
    swapped: bool,
    problem: str,
) -> MigrationResult:
    kept = [s.until for s in current.spaces if s.until and s.space != space]
    return MigrationResult(
        spec,
        swapped,
        current.number,
        _pinned(current, space).pending,
        member.usage.tokens,
        round(member.usage.dollars, 6),
        problem,
        kept_until=max(kept, default="") if swapped else "",
    )


def _pinned(generation: Generation, space: EmbeddingSpace) -> PinnedSpace:
    return next(s for s in generation.spaces if s.space == space)


def _named(workspace: Workspace, current: Generation) -> list[str]:
    """What the migrations of the kept generations called the models, the newest first."""
    store = workspace.generations
    notes = (found.migration for n in reversed(store.kept(current)) if (found := store.find(n)))
    return [spec for note in notes if note for spec in (note.chosen, note.instead_of)]


def _former(workspace: Workspace, current: Generation) -> PinnedSpace:
    """The waiting space that served last."""
    waiting = {s.space.space_id: s for s in current.spaces if s.until}
    store = workspace.generations
    for number in reversed(store.kept(current)):
        found = store.find(number)
        if found is not None and found.serving is not None:
            pinned = waiting.get(found.serving.space.space_id)
            if pinned is not None:
                return pinned
    raise UsageError(
        "No former embedding space is kept.",
        remedy="`memory-assets embedding status` lists the spaces; a space stays for "
        "embedding_grace_days after a migration. `memory-assets embedding migrate --to` builds it "
        "again, mostly from the cache.",
    )


def _sample(cases: Sequence[Case]) -> list[Case]:
    ordered = sorted(cases, key=lambda c: hashlib.sha256(c.query.encode()).digest())
    return ordered[:QUESTIONS]


def _figures(found: Evaluation) -> dict[str, dict[str, float]]:
    legs = {leg: found.of(leg) or {} for leg in ("vector", "hybrid")}
    return {
        leg: {k: round(v, 4) for k, v in figures.items() if isinstance(v, float)}
        for leg, figures in legs.items()
    }
