"""How well the registry answers: recall, MRR and nDCG per leg and for the hybrid."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from memory_assets.domain.ports import Embedder, VectorCache
from memory_assets.domain.ranking import Floats, Ranking
from memory_assets.domain.retrieval import Quality, quality
from memory_assets.domain.text import fold_question
from memory_assets.domain.visibility import Principal, rule_for
from memory_assets.embedding.through_cache import embed_through_cache
from memory_assets.steps.search.evaluation_cases import Case
from memory_assets.steps.search.filters import visible
from memory_assets.steps.search.legs import Question, TenantScores, score_tenant
from memory_assets.steps.search.searcher import Searcher
from memory_assets.steps.search.state import ServedGeneration, use_events

LEGS: Final = ("vector", "text", "hybrid")
ALL: Final = "all"
Vector = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One evaluation of one generation."""

    generation: int
    space_id: str | None
    evaluated_at: datetime
    rows: tuple[dict[str, Any], ...]
    """Per tenant, language and leg (``all`` sums up): the figures of ``Quality``."""
    cases: int
    unanswerable: int
    """Questions whose memories are not active, and lines without a question; left out."""
    by_source: dict[str, int]

    def of(self, leg: str, tenant_id: str = ALL, language: str = ALL) -> dict[str, Any] | None:
        """The figures of one leg."""
        for row in self.rows:
            if (row["tenant_id"], row["language"], row["leg"]) == (tenant_id, language, leg):
                return row
        return None

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as ``--json`` prints it."""
        return {
            "generation": self.generation,
            "space_id": self.space_id,
            "evaluated_at": self.evaluated_at.isoformat(),
            "questions": self.cases,
            "unanswerable": self.unanswerable,
            "by_source": self.by_source,
            "rows": list(self.rows),
        }

    def to_metadata(self) -> dict[str, Any]:
        """Figures for the run's metadata; no content."""
        hybrid = self.of("hybrid") or {}
        return {
            "questions": self.cases,
            "unanswerable_questions": self.unanswerable,
            **{f"hybrid_{k}": v for k, v in hybrid.items() if isinstance(v, float)},
        }


def evaluate(
    searcher: Searcher,
    cases: Sequence[Case],
    principal: Principal,
    *,
    embedder: Embedder,
    cache: VectorCache,
    now: datetime,
) -> Evaluation:
    """Ranks every question's memories in each leg and in the hybrid; nothing counts as an access.

    A session's own memories are left out of its own questions, and so is what it added to the use
    of others: they are what came of the question. Questions of tenants that the
    principal was not given are refused, not skipped.

    Raises:
        AccessDenied: the persona does not see evaluation, or was not given a tenant.
        EmbeddingError: a question got no vector; half an evaluation would mislead.
    """
    served = searcher.served()
    for tenant_id in sorted({c.tenant_id for c in cases}):
        rule_for(principal, tenant_id, "evaluate")
    if not cases or served.generation.serving is None:
        return _evaluation(served, now, [], len(cases))
    queries = [c.query for c in cases]
    vectors, _ = embed_through_cache(embedder, cache, queries, kind="query")
    events = use_events(served.registry)
    ranked: list[tuple[Case, dict[str, list[int | None]]]] = []
    for case, vector in zip(cases, vectors, strict=True):
        found = _ranks(searcher, served, case, vector, principal, now, events)
        if found is not None:
            ranked.append((case, found))
    return _evaluation(served, now, ranked, len(cases))


def _ranks(
    searcher: Searcher,
    served: ServedGeneration,
    case: Case,
    vector: Vector,
    principal: Principal,
    now: datetime,
    events: pl.DataFrame,
) -> dict[str, list[int | None]] | None:
    pinned = served.generation.serving
    assert pinned is not None
    rows = served.tenant(case.tenant_id)
    rule = rule_for(principal, case.tenant_id, "evaluate")
    allowed = rows.visible(rule)
    if case.session_id is not None:
        allowed = allowed & (rows.frame["session_id"] != case.session_id).to_numpy()
        rows = rows.without_uses(events, case.session_id)
    options = searcher.options
    ranking = Ranking(options.weights, options.recency_days, searcher.calibration(served, pinned))
    scores = TenantScores(rows, allowed, ranking, now.timestamp())
    folded = fold_question(case.query)
    index = served.index(pinned)
    score_tenant(scores, Question(folded, vector), index, visible(rule), 10, options.legs)
    keys = pl.Series([f"{case.tenant_id}/{m}" for m in sorted(case.needed)])
    slots = [int(s) for s in scores.slots(keys)]
    if -1 in slots:
        return None
    legs: dict[str, Floats] = {
        "vector": scores.cosine,
        "text": np.where(scores.bm25 > 0, scores.bm25, np.nan),
        "hybrid": scores.scores(),
    }
    return {leg: [_rank(values, slot) for slot in slots] for leg, values in legs.items()}


def _rank(values: Floats, slot: int) -> int | None:
    """Place of a slot, older memories first among equals; None where the leg did not find it."""
    own = values[slot]
    if np.isnan(own):
        return None
    return int(np.count_nonzero(values > own) + np.count_nonzero(values[:slot] == own)) + 1


def _evaluation(
    served: ServedGeneration,
    now: datetime,
    ranked: Sequence[tuple[Case, dict[str, list[int | None]]]],
    asked: int,
) -> Evaluation:
    groups: dict[tuple[str, str], list[dict[str, list[int | None]]]] = {}
    sources: dict[str, int] = {}
    for case, ranks in ranked:
        sources[case.source] = sources.get(case.source, 0) + 1
        for key in (
            (ALL, ALL),
            (case.tenant_id, ALL),
            (ALL, case.language),
            (case.tenant_id, case.language),
        ):
            groups.setdefault(key, []).append(ranks)
    serving = served.generation.serving
    return Evaluation(
        generation=served.generation.number,
        space_id=serving.space.space_id if serving else None,
        evaluated_at=now,
        rows=tuple(_rows(groups)),
        cases=len(ranked),
        unanswerable=asked - len(ranked),
        by_source=dict(sorted(sources.items())),
    )


def _rows(
    groups: dict[tuple[str, str], list[dict[str, list[int | None]]]],
) -> Iterable[dict[str, Any]]:
    for (tenant_id, language), ranks in sorted(groups.items()):
        for leg in LEGS:
            found: Quality = quality(r[leg] for r in ranks)
            yield {
                "tenant_id": tenant_id,
                "language": language,
                "leg": leg,
                **found.to_dict(),
            }
