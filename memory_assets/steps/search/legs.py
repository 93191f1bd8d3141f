"""Scoring one tenant's memories: every memory exactly, or the union of the legs with a proof.

Recency and use are known of every memory. The text leg brings the rows that score best by words;
up to ``exact_rows`` memories all cosines are computed, above that the vector leg brings the nearest
rows. The last row of a leg bounds all that it did not bring. Whichever memory could still reach the
best ``k`` under these bounds gets its missing terms computed, so no term of a hit is ever a guess,
and nothing outside can beat what is returned.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from memory_assets.domain.ranking import TERMS, Floats, Ranking, rank_of, top
from memory_assets.steps.search.state import Ints, Mask, TenantRows
from memory_assets.storage.index_pinned import PinnedIndex
from memory_assets.storage.index_schema import Predicate, is_in

Vector = npt.NDArray[np.float32]
FIRST_BATCH: Final = 128
WEAK_FILTER: Final = 0.5
"""From this share of the index on, a filter costs more than the rows that it leaves out: each query
makes a list of all that it lets through (an adviser's, at 100,000 rows: some 10 ms a leg)."""


@dataclass(frozen=True, slots=True)
class LegOptions:
    """How deep the legs go."""

    exact_rows: int = 50_000
    """Tenants of at most so many memories are scored exactly; their vectors stay in memory
    (1.5 KB each at 384 dimensions)."""
    vector_depth: int = 100
    text_depth: int = 20_000
    filled_at_most: int = 4_000
    """Memories whose missing cosines, or texts, are computed for one query."""


@dataclass(frozen=True, slots=True)
class Question:
    """A query in the forms that the legs take."""

    folded: str
    vector: Vector | None
    """None when no vector could be had: words, recency and use decide alone."""


class TenantScores:
    """The terms of one tenant's allowed memories, known or bounded, one slot for each."""

    def __init__(self, rows: TenantRows, allowed: Mask, ranking: Ranking, now: float) -> None:
        self.rows = rows
        self.ranking = ranking
        self.places: Ints = np.flatnonzero(allowed)
        size = len(self.places)
        self._slot = np.full(len(rows), -1, np.int64)
        self._slot[self.places] = np.arange(size)
        self.recency = rows.recency(ranking, now)[self.places]
        self.access = rows.access(ranking)[self.places]
        zero = np.zeros(size)
        self._scores = ranking.score(zero, zero, self.recency, self.access)
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
        """Takes in cosines of these slots, each for the first time."""
        good = slots >= 0
        slots, cosines = slots[good], cosines[good]
        self.cosine[slots] = cosines
        self.unknown_cosine[slots] = False
        self._scores[slots] += self.ranking.weights.cosine * self.ranking.cosine_term(cosines)

    def take_texts(self, slots: Ints, scores: Floats) -> None:
        """Takes in BM25 scores of these slots, each for the first time."""
        good = slots >= 0
        slots, scores = slots[good], scores[good]
        self.bm25[slots] = scores
        self.unknown_text[slots] = False
        self._scores[slots] += self.ranking.weights.text * self.ranking.text_term(scores)

    def bound_cosines(self, highest: float) -> None:
        """All cosines not taken in yet are at most ``highest``."""
        self.unknown_cosine = np.isnan(self.cosine)
        term = self.ranking.cosine_term(np.array([highest]))[0]
        self._cosine_rest = self.ranking.weights.cosine * float(term)

    def bound_texts(self, highest: float) -> None:
        """All text scores not taken in yet are at most ``highest``."""
        self.unknown_text = self.bm25 == 0
        term = self.ranking.text_term(np.array([highest]))[0]
        self._text_rest = self.ranking.weights.text * float(term)

    @property
    def unknown(self) -> Mask:
        """Slots with a term that is only bounded."""
        return self.unknown_cosine | self.unknown_text

    def scores(self) -> Floats:
        """Scores; what is unknown counts as nothing."""
        return self._scores

    def bounds(self) -> Floats:
        """The highest score that each slot can have."""
        rest = self._cosine_rest * self.unknown_cosine + self._text_rest * self.unknown_text
        return self._scores + rest

    def best(self, k: int) -> Ints:
        """Slots of the best ``k``; equal scores by the older memory."""
        return top(self._scores, k, self.places)

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

    ``where`` narrows the index to what the principal may see, unless that is most of it. Whether or
    not it does: what ``scores`` does not allow has no slot, and is dropped before it is scored.
    With an approximate vector index the answer is as sure as that index's recall; exact scoring
    does not use it.
    """
    if not len(scores.places):
        return True
    share = len(scores.places) / max(index.count_rows(), 1)
    if share >= WEAK_FILTER:
        depth = math.ceil(options.vector_depth / share)
        legs = _Legs(scores, question, index, None, replace(options, vector_depth=depth))
    else:
        legs = _Legs(scores, question, index, where, options)
    legs.run()
    return legs.fill(min(k, len(scores.places)))


@dataclass(frozen=True, slots=True)
class _Legs:
    scores: TenantScores
    question: Question
    index: PinnedIndex
    where: Predicate | None
    options: LegOptions

    def run(self) -> None:
        """Both legs; the engine works outside Python's lock, so one of them gets a thread."""
        if self.question.vector is None:
            self._take_text(self._text())
        elif len(self.scores.rows) <= self.options.exact_rows:
            self._take_text(self._text())
            self._every_cosine(self.question.vector)
        else:
            with ThreadPoolExecutor(1) as pool:
                text = pool.submit(self._text)
                nearest = self._nearest(self.question.vector)
                self._take_text(text.result())
            self._take_nearest(nearest)

    def fill(self, k: int) -> bool:
        """Computes the missing terms of all slots that could still be among the best ``k``.

        In growing batches, the likeliest first: each raises the bar for the rest. Cosines before
        texts, since most slots are out of reach once theirs is known.
        """
        scores = self.scores
        self._in_batches(k, lambda: scores.unknown_cosine, self._fill_cosines)
        self._in_batches(k, lambda: scores.unknown_text, self._fill_texts)
        return not len(_reachable(scores, scores.unknown, k, 1))

    def _text(self) -> pl.DataFrame:
        return self.index.text_search(self.question.folded, self.options.text_depth, self.where)

    def _take_text(self, found: pl.DataFrame) -> None:
        scores = self.scores
        scores.take_texts(scores.slots(found["row_key"]), found["bm25"].to_numpy())
        if found.height >= self.options.text_depth:
            scores.bound_texts(float(found["bm25"][-1]))

    def _every_cosine(self, vector: Vector) -> None:
        matrix, has = self.scores.rows.vectors(self.index)
        cosine = (matrix @ vector)[self.scores.places]
        known = np.flatnonzero(has[self.scores.places])
        self.scores.take_cosines(known, cosine[known].astype(np.float64))

    def _nearest(self, vector: Vector) -> pl.DataFrame:
        """The nearest rows by the index's estimate."""
        depth = self.options.vector_depth
        return self.index.vector_search(vector, depth, self.where, refined=False)

    def _take_nearest(self, found: pl.DataFrame) -> None:
        """Computes in full the cosines of the nearest rows, and of the best ones without them.

        Both at once: reading vectors costs more by the call than by the row.
        """
        scores = self.scores
        if found.height >= self.options.vector_depth:
            scores.bound_cosines(float(found["cosine"][-1]))
        slots = scores.slots(found["row_key"])
        likely = scores.best(min(FIRST_BATCH, self.options.filled_at_most, len(scores.places)))
        self._fill_cosines(np.union1d(slots[slots >= 0], likely))

    def _in_batches(
        self, k: int, unknown: Callable[[], Mask], fill: Callable[[Ints], None]
    ) -> None:
        batch, done = FIRST_BATCH, 0
        while done < self.options.filled_at_most and unknown().any():
            batch = min(batch, self.options.filled_at_most - done)
            slots = _reachable(self.scores, unknown(), k, batch)
            if not len(slots):
                return
            fill(slots)
            done += len(slots)
            batch *= 2

    def _fill_cosines(self, slots: Ints) -> None:
        scores, vector = self.scores, self.question.vector
        assert vector is not None
        offsets = scores.rows.offsets(self.index)[scores.places[slots]]
        stored = np.flatnonzero(offsets >= 0)
        places, vectors = self.index.vectors_at(offsets[stored].tolist())
        scores.take_cosines(slots[stored[places]], (vectors @ vector).astype(np.float64))
        # What has no vector stays without a cosine, but that is known now.
        scores.unknown_cosine[slots] = False

    def _fill_texts(self, slots: Ints) -> None:
        scores = self.scores
        keys = [scores.rows.row_key(int(place)) for place in scores.places[slots]]
        found = self.index.text_search(self.question.folded, len(keys), is_in("row_key", keys))
        scores.take_texts(scores.slots(found["row_key"]), found["bm25"].to_numpy())
        scores.unknown_text[slots] = False


def _reachable(scores: TenantScores, unknown: Mask, k: int, at_most: int) -> Ints:
    """Unknown slots whose bound reaches the k-th best score; the likeliest ones."""
    best = scores.best(k)
    least = scores.scores()[best[-1]] if len(best) == k else -np.inf
    bounds = scores.bounds()
    found = np.flatnonzero(unknown & (bounds >= least))
    if len(found) > at_most:
        found = found[np.argpartition(-bounds[found], at_most - 1)[:at_most]]
    return np.asarray(found, np.int64)
