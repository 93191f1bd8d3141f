"""Searching the published registry: hybrid, explained, and only what the principal may see."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import RLock
from typing import Any, Final, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from memory_assets.domain.intents import Tier
from memory_assets.domain.ports import Embedder
from memory_assets.domain.ranking import Calibration, Ranking
from memory_assets.domain.said import LONGEST_QUERY, checked
from memory_assets.domain.searchable import SEARCHABLE_TYPES, search_refusal
from memory_assets.domain.spaces import EmbeddingSpace
from memory_assets.domain.text import fold_question
from memory_assets.domain.visibility import Condition, Principal, Rule, rule_for
from memory_assets.embedding.chain import ProviderChain
from memory_assets.errors import IndexMismatch, UnknownTenantError, UsageError
from memory_assets.steps.index.query_space import PlacedQuery, place_query
from memory_assets.steps.registry.as_of import generation_at
from memory_assets.steps.search.filters import visible
from memory_assets.steps.search.legs import Question, TenantScores, score_tenant
from memory_assets.steps.search.options import SearchOptions
from memory_assets.steps.search.session_use import Exclusions, decided_memories, read_session
from memory_assets.steps.search.state import Mask, ServedGeneration, TenantRows
from memory_assets.steps.search.types import (
    CONTENT,
    MAX_K,
    Dropped,
    Hit,
    SearchRequest,
    SearchResult,
)
from memory_assets.storage.generations import Generation, GenerationStore, PinnedSpace

TIERS: Final[tuple[str, ...]] = get_args(Tier)


@dataclass(frozen=True, slots=True)
class _Asked:
    """One query, ready for the tenants of one generation."""

    request: SearchRequest
    served: ServedGeneration
    pinned: PinnedSpace
    vector: npt.NDArray[np.float32] | None
    ranking: Ranking


class Searcher:
    """Answers searches of one home; keeps the newest generation open between them."""

    def __init__(
        self,
        store: GenerationStore,
        embedder: Callable[[], Embedder],
        options: SearchOptions,
        *,
        ledgers: Callable[[], Path] | None = None,
        chain_for: Callable[[Generation], ProviderChain] | None = None,
        opener: Callable[[EmbeddingSpace], Embedder | None] = lambda _: None,
    ) -> None:
        """``embedder`` answers alone where no ``chain_for`` gives the providers in force."""
        self.store = store
        self.options = options
        self._chain_for = chain_for or (lambda _: ProviderChain([embedder()]))
        self._opener = opener
        self._ledgers = ledgers
        self._served: tuple[str | None, ServedGeneration] | None = None
        self._vectors: dict[tuple[str, str], npt.NDArray[np.float32]] = {}
        self._lock = RLock()

    def search(self, request: SearchRequest) -> SearchResult:
        """The best memories for the query that the principal may see, each term reported.

        Everything is read from one generation. If its index version was cleaned away meanwhile,
        CURRENT is read once more. Without a vector for the query (the model cannot be had) words,
        recency and use decide, and the result says so.

        Raises:
            UnknownTenantError, AccessDenied: see ``domain.visibility``.
            UnknownSessionError: the named session does not exist.
            SpaceMismatch: the configured model is not the one that the index was built with.
            UsageError: the query is blank or very long, the tier is none, or k is out of range.
        """
        self._check(request)
        try:
            return self._search(request, self.served(request.as_of))
        except IndexMismatch:
            return self._search(request, self.served(request.as_of, afresh=True))

    def served(
        self, as_of: datetime | int | None = None, *, afresh: bool = False
    ) -> ServedGeneration:
        """The newest generation, or the one in force at ``as_of``, opened for reading.

        Raises:
            UnknownGeneration: nothing that is kept has that number or is that old.
        """
        if as_of is not None:
            return ServedGeneration(self.store, generation_at(self.store, as_of))
        with self._lock:
            found = self.store.pointer.read()
            tag = found[1] if found else None
            if self._served is None or self._served[0] != tag or afresh:
                generation, tag = self.store.current()
                self._served = (tag, ServedGeneration(self.store, generation))
            return self._served[1]

    def _check(self, request: SearchRequest) -> None:
        query = request.query
        if len(query) <= LONGEST_QUERY:  # A lone surrogate is no reason to find nothing.
            query = query.encode("utf-8", "ignore").decode()
        checked("query", query, longest=LONGEST_QUERY, remedy="say what to look for.")
        if request.tier is not None and request.tier not in TIERS:
            raise UsageError(f"{request.tier!r} is no tier.", remedy=f"use {', '.join(TIERS)}.")
        if not 1 <= request.k <= MAX_K:
            raise UsageError(f"k = {request.k} is out of range.", remedy=f"use 1 to {MAX_K}.")

    def _search(self, request: SearchRequest, served: ServedGeneration) -> SearchResult:
        rules = self._rules(request, served)
        excluded = self._excluded(request, served, rules)
        placed = self._question(request.query, served)
        pinned, degraded = placed.pinned, placed.degraded
        calibration = self.calibration(served, pinned)
        if pinned is None:
            return self._nothing(served, calibration, degraded)
        ranking = Ranking(self.options.weights, self.options.recency_days, calibration)
        asked = _Asked(request, served, pinned, placed.vector, ranking)
        hits: list[Hit] = []
        dropped: list[Dropped] = []
        considered, exact = 0, True
        for tenant_id, rule in rules.items():
            found = self._search_tenant(asked, tenant_id, rule, excluded.get(tenant_id, {}))
            hits += found.hits
            dropped += found.dropped
            considered += found.considered
            exact = exact and found.exact
        hits.sort(key=lambda h: (-h.score, h.tenant_id, h.memory_id))
        return SearchResult(
            hits=tuple(hits[: request.k]),
            dropped=tuple(dropped),
            generation=served.generation.number,
            space_id=pinned.space.space_id,
            weights=ranking.weights,
            calibration=calibration,
            considered=considered,
            exact=exact,
            degraded=degraded,
            notices=(*placed.notices, *_notices(pinned)),
        )

    def _rules(self, request: SearchRequest, served: ServedGeneration) -> Mapping[str, Rule]:
        """What may be seen of each tenant that is searched."""
        named = request.tenants or (request.principal.tenant,)
        rules = {}
        for tenant_id in dict.fromkeys(named):
            rules[tenant_id] = self.rule(request.principal, tenant_id, request.path, served)
        if request.session is not None and len(rules) != 1:
            raise UsageError("A session belongs to one tenant.", remedy="name one tenant.")
        return rules

    def rule(
        self, principal: Principal, tenant_id: str, path: str, served: ServedGeneration
    ) -> Rule:
        """What the principal may see of a tenant that exists.

        Raises:
            UnknownTenantError, AccessDenied: see ``domain.visibility``.
        """
        rule = rule_for(principal, tenant_id, path)
        if not self._is_known(tenant_id, served):
            raise UnknownTenantError(
                f"Nothing is known of the tenant {tenant_id!r}.",
                remedy="tenants are the folders of the ledgers, or the entries of tenants.toml; "
                "one without a consolidated session has nothing to search.",
            )
        return rule

    def ledgers(self) -> Path:
        """The ledgers folder.

        Raises:
            SettingsError, UsageError: none was named.
        """
        if self._ledgers is None:
            raise UsageError("No ledgers folder is named.", remedy="add --ledgers DIR.")
        return self._ledgers()

    def _is_known(self, tenant_id: str, served: ServedGeneration) -> bool:
        if not self.options.is_known_tenant(tenant_id):
            return False
        return tenant_id in served.tenants or self.options.has_sessions(tenant_id)

    def _excluded(
        self, request: SearchRequest, served: ServedGeneration, rules: Mapping[str, Rule]
    ) -> Mapping[str, Exclusions]:
        if request.session is None:
            return {}
        (tenant_id,) = rules
        session = read_session(self.ledgers(), tenant_id, request.session, request.principal)
        replaced = served.replaced.filter(pl.col("tenant_id") == tenant_id)
        return {tenant_id: decided_memories(session, served.tenant(tenant_id).frame, replaced)}

    def _question(self, query: str, served: ServedGeneration) -> PlacedQuery:
        """The space that answers, the query's vector in it, and why there is none."""
        if len(self._vectors) > 1_000:
            self._vectors.clear()
        text = unicodedata.normalize("NFC", query)
        generation = served.generation
        return place_query(self._chain_for, generation, text, self._vectors, self._opener)

    def calibration(self, served: ServedGeneration, pinned: PinnedSpace | None) -> Calibration:
        """The generation's calibration for a space, with what the settings override."""
        stored = served.generation.ranking
        found = Calibration.from_dict(stored.get(pinned.space.space_id, {}) if pinned else {})
        if self.options.text_k is None:
            return found
        return Calibration(self.options.text_k, found.cosine_low, found.cosine_high)

    def _nothing(
        self, served: ServedGeneration, calibration: Calibration, degraded: str | None
    ) -> SearchResult:
        return SearchResult(
            hits=(),
            dropped=(),
            generation=served.generation.number,
            space_id=None,
            weights=self.options.weights,
            calibration=calibration,
            considered=0,
            exact=True,
            degraded=degraded,
            notices=("nothing is published yet: run `memory-assets nightly`.",),
        )

    def _search_tenant(
        self, asked: _Asked, tenant_id: str, rule: Rule, excluded: Exclusions
    ) -> SearchResult:
        request, served = asked.request, asked.served
        rows = served.tenant(tenant_id)
        rule = narrowed(rule, request)
        allowed = _allowed(rows, rule)
        dropped = _drop_excluded(rows, allowed, excluded)
        scores = TenantScores(rows, allowed, asked.ranking, request.now.timestamp())
        index = served.index(asked.pinned)
        question = Question(fold_question(request.query), asked.vector)
        where = visible(rule)
        exact = score_tenant(scores, question, index, where, request.k, self.options.legs)
        hits: list[Hit] = []
        patterns = self.options.schema_patterns(tenant_id)
        for slot in scores.best(min(2 * request.k + 20, len(scores.places))):
            row = rows.frame.row(int(scores.places[slot]), named=True)
            why = _refusal(row, rule, patterns)
            if why is not None:
                dropped.append(Dropped(tenant_id, row["memory_id"], *why))
            elif len(hits) < request.k:
                hits.append(_hit(row, scores, int(slot), asked))
        return SearchResult(
            hits=tuple(hits),
            dropped=tuple(dropped),
            generation=served.generation.number,
            space_id=None,
            weights=asked.ranking.weights,
            calibration=asked.ranking.calibration,
            considered=len(scores.places),
            exact=exact,
        )


def _allowed(rows: TenantRows, rule: Rule) -> Mask:
    """The memories that may be found, before anything is scored."""
    reusable = Rule(((Condition("type", SEARCHABLE_TYPES),),))
    return rows.visible(rule) & rows.visible(reusable)


def narrowed(rule: Rule, request: SearchRequest) -> Rule:
    """The rule with the request's filters added to each of its alternatives."""
    asked = {"tier": request.tier, "user_id": request.user, "client_id": request.client}
    added = tuple(Condition(c, frozenset({v})) for c, v in asked.items() if v is not None)
    return Rule(tuple((*clause, *added) for clause in rule.clauses)) if added else rule


def _drop_excluded(rows: TenantRows, allowed: Mask, excluded: Exclusions) -> list[Dropped]:
    """Takes what the session decided out of ``allowed``; tells only of what could be seen."""
    if not excluded:
        return []
    keys = pl.Series([f"{rows.tenant_id}/{memory_id}" for memory_id in excluded])
    dropped = []
    for place, (memory_id, why) in zip(rows.places(keys), excluded.items(), strict=True):
        if place >= 0 and allowed[place]:
            allowed[place] = False
            dropped.append(Dropped(rows.tenant_id, memory_id, *why))
    return dropped


def _refusal(
    row: Mapping[str, Any], rule: Rule, patterns: tuple[str, ...]
) -> tuple[str, str] | None:
    """Why a row that scored well does not leave the search after all."""
    if not rule.allows(row):
        return "not-allowed", "the principal may not see it"
    why = search_refusal(row["type"], row["subject"], patterns)
    if why is None:
        return None
    return ("not-reusable" if row["type"] not in SEARCHABLE_TYPES else "schema-name"), why


def _hit(row: Mapping[str, Any], scores: TenantScores, slot: int, asked: _Asked) -> Hit:
    tenant_id, memory_id = row["tenant_id"], row["memory_id"]
    replaced = asked.served.replaced
    if replaced.height:
        replaced = replaced.filter(
            pl.col("tenant_id") == tenant_id, pl.col("superseded_by") == memory_id
        )
    cosine = float(scores.cosine[slot])
    return Hit(
        tenant_id=tenant_id,
        memory_id=memory_id,
        tier=row["tier"],
        score=float(scores.scores()[slot]),
        terms=scores.terms(slot),
        content={name: row[name] for name in CONTENT},
        supersedes=tuple(replaced["memory_id"].to_list()),
        uses=row["uses"],
        cosine=None if np.isnan(cosine) else cosine,
        bm25=float(scores.bm25[slot]) or None,
        ranks=scores.ranks(slot) if asked.request.explain else {},
    )


def _notices(pinned: PinnedSpace) -> tuple[str, ...]:
    if not pinned.pending:
        return ()
    return (
        f"{pinned.pending} memories are not searchable by vector: run `memory-assets reindex`.",
    )
