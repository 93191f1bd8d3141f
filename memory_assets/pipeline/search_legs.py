"""Scoring one tenant's memories: every memory exactly, or the union of the legs with a proof.

Recency and use are known of every memory, and the text leg usually returns every row that shares a
word with the query. What may be missing is a cosine. Up to ``exact_rows`` memories all cosines are
computed. Above that the vector leg brings the nearest ones, and the last of them bounds all others:
whichever memory could still reach the best ``k`` under that bound gets its cosine computed, so no
term of a hit is ever a guess, and nothing outside can beat what is returned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from memory_assets.domain.ranking import TERMS, Floats, Ranking, rank_of, top
from memory_assets.pipeline.search_state import Ints, Mask, TenantRows
from memory_assets.storage.index_pinned import PinnedIndex
from memory_assets.storage.index_schema import Predicate, is_in


@dataclass(frozen=True, slots=True)
class LegOptions:
    """How deep the legs go."""

    exact_rows: int = 150_000
    """Tenants of at most so many memories are scored exactly; their vectors stay in memory
    (1.5 KB each at 384 dimensions)."""
    vector_depth: int = 200
    text_depth: int = 50_000
    filled_at_most: int = 2_000
    """Memories whose missing terms are computed for one query."""


@dataclass(frozen=True, slots=True)
class Question:
    """A query in the forms that the legs take."""

    folded: str
    vector: npt.NDArray[np.float32] | None
    """None when no vector could be had: words, recency and use decide alone."""


class TenantScores:
    """The terms of one tenant's allowed memories, known or bounded."""

    def __init__(self, rows: TenantRows, allowed: Mask, ranking: Ranking, now: float) -> None:
        self.rows = rows
        self.places: Ints = np.flatnonzero(allowed)
        self.ranking = ranking
        size = len(self.places)
        self._slot = np.full(len(rows), -1, np.int64)
        self._slot[self.places] = np.arange(size)
        self.recency = ranking.recency_term(rows.last_seen[self.places], now)
        self.access = ranking.access_term(rows.uses[self.places], rows.most_uses)
        self.cosine: Floats = np.full(size, np.nan)
        self.bm25: Floats = np.zeros(size)
        self.unknown_cosine = np.zeros(size, np.bool_)
        self.unknown_text = np.zeros(size, np.bool_)
        self._cosine_rest = 0.0
        self._text_rest = 0.0

    def slots(self, row_keys: pl.Series) -> Ints:
        """Slot of each index key; -1 for what is not allowed here."""
        places = self.rows.places(row_keys)
        return np.where(places >= 0, self._slot[places], -1) if len(self._slot) else places

    def take_cosines(self, slots: Ints, cosines: Floats) -> None:
        """Takes in cosines of these slots."""
        good = slots >= 0
        self.cosine[slots[good]] = cosines[good]
        self.unknown_cosine[slots[good]] = False

    def take_texts(self, slots: Ints, scores: Floats) -> None:
        """Takes in BM25 scores of these slots."""
        good = slots >= 0
        self.bm25[slots[good]] = scores[good]
        self.unknown_text[slots[good]] = False

    def bound_cosines(self, highest: float) -> None:
        """All cosines not taken in yet are at most ``highest``."""
        self.unknown_cosine[:] = True
        self._cosine_rest = highest

    def bound_texts(self, highest: float) -> None:
        """All text scores not taken in yet are at most ``highest``."""
        self.unknown_text[:] = True
        self._text_rest = highest

    @property
    def unknown(self) -> Mask:
        """Slots with a term that is only bounded."""
        return self.unknown_cosine | self.unknown_text

    def scores(self) -> Floats:
        """Scores; what is unknown counts as nothing."""
        return self._score(self.cosine, self.bm25)

    def bounds(self) -> Floats:
        """The highest score that each slot can have."""
        cosine = np.where(self.unknown_cosine, self._cosine_rest, self.cosine)
        bm25 = np.where(self.unknown_text, self._text_rest, self.bm25)
        return self._score(cosine, bm25)

    def _score(self, cosine: Floats, bm25: Floats) -> Floats:
        r = self.ranking
        return r.score(r.cosine_term(cosine), r.text_term(bm25), self.recency, self.access)

    def best(self, k: int) -> Ints:
        """Slots of the best ``k``; equal scores by the older memory."""
        return top(self.scores(), k, self.places)

    def terms(self, slot: int) -> dict[str, float]:
        """The four terms of one slot."""
        one = slice(slot, slot + 1)
        values = (
            self.ranking.cosine_term(self.cosine[one])[0],
            self.ranking.text_term(self.bm25[one])[0],
            self.recency[slot],
            self.access[slot],
        )
        return dict(zip(TERMS, map(float, values), strict=True))

    def ranks(self, slot: int) -> dict[str, int | None]:
        """Place in each leg; None where the memory was not found there."""
        cosines = self.ranking.cosine_term(self.cosine)
        return {
            "vector": rank_of(cosines, slot),
            "text": rank_of(self.bm25, slot),
            "recency": rank_of(self.recency, slot),
            "access": rank_of(self.access, slot),
        }


def score_tenant(
    scores: TenantScores,
    question: Question,
    index: PinnedIndex,
    where: Predicate,
    k: int,
    options: LegOptions,
) -> bool:
    """Fills the scores in; whether nothing outside the best ``k`` can beat them.

    ``where`` is the access rule as a filter of the index. With an approximate vector index the
    answer is as sure as that index's recall; exact scoring does not use it.
    """
    if not len(scores.places):
        return True
    _text_leg(scores, question, index, where, options)
    if question.vector is not None and len(scores.rows) <= options.exact_rows:
        matrix, has = scores.rows.vectors(index)
        cosine = (matrix @ question.vector)[scores.places].astype(np.float64)
        scores.cosine = np.where(has[scores.places], cosine, np.nan)
    elif question.vector is not None:
        _vector_leg(scores, question.vector, index, where, options)
    return _fill(scores, question, index, k, options)


def _text_leg(
    scores: TenantScores, question: Question, index: PinnedIndex, where: Predicate, o: LegOptions
) -> None:
    found = index.text_search(question.folded, o.text_depth, where)
    if found.height >= o.text_depth:
        scores.bound_texts(float(found["bm25"][-1]))
    scores.take_texts(scores.slots(found["row_key"]), found["bm25"].to_numpy())


def _vector_leg(
    scores: TenantScores,
    vector: npt.NDArray[np.float32],
    index: PinnedIndex,
    where: Predicate,
    o: LegOptions,
) -> None:
    found = index.vector_search(vector, o.vector_depth, where)
    if found.height >= o.vector_depth:
        scores.bound_cosines(float(found["cosine"][-1]))
    scores.take_cosines(scores.slots(found["row_key"]), found["cosine"].to_numpy())


def _fill(
    scores: TenantScores, question: Question, index: PinnedIndex, k: int, options: LegOptions
) -> bool:
    """Computes the missing terms of all slots that could still be among the best ``k``."""
    if not scores.unknown.any():
        return True
    k = min(k, len(scores.places))
    reachable = _reachable(scores, k)
    if len(reachable) > options.filled_at_most:
        bounds = scores.bounds()[reachable]
        keep = np.argpartition(-bounds, options.filled_at_most - 1)[: options.filled_at_most]
        reachable = reachable[keep]
    if len(reachable):
        keys = [scores.rows.row_key(int(p)) for p in scores.places[reachable]]
        if question.vector is not None:
            _fill_cosines(scores, reachable, keys, question.vector, index)
        if scores.unknown_text[reachable].any():
            found = index.text_search(question.folded, len(keys), is_in("row_key", keys))
            scores.take_texts(reachable, np.zeros(len(reachable)))
            scores.take_texts(scores.slots(found["row_key"]), found["bm25"].to_numpy())
    return not len(_reachable(scores, k))


def _fill_cosines(
    scores: TenantScores,
    slots: Ints,
    keys: list[str],
    vector: npt.NDArray[np.float32],
    index: PinnedIndex,
) -> None:
    present, vectors = index.vectors(keys)
    # What has no vector stays without a cosine, but that is known now.
    scores.take_cosines(slots, scores.cosine[slots])
    if present:
        found = scores.slots(pl.Series(present))
        scores.take_cosines(found, (vectors @ vector).astype(np.float64))


def _reachable(scores: TenantScores, k: int) -> Ints:
    """Slots with unknown terms whose bound reaches the k-th best score."""
    best = scores.best(k)
    least = scores.scores()[best[-1]] if len(best) == k else -np.inf
    return np.asarray(np.flatnonzero(scores.unknown & (scores.bounds() >= least)), np.int64)
