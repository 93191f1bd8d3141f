"""The search score: four terms, each in [0, 1] before its weight, none ever a NaN.

``score = 0.55 cosine + 0.25 text + 0.15 recency + 0.05 access``. Raw figures of unlike scales are
never added: a cosine is rescaled by what is usual in its embedding space, a BM25 score bent into
[0, 1) by the generation's ``text_k``, an age decays, a use count is taken within its tenant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
TERMS: Final = ("cosine", "text", "recency", "access")
SECONDS_PER_DAY: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class Weights:
    """What each term counts; the sources' weights by default."""

    cosine: float = 0.55
    text: float = 0.25
    recency: float = 0.15
    access: float = 0.05

    def of(self, term: str) -> float:
        """The weight of a term by its name."""
        return float(getattr(self, term))

    @property
    def total(self) -> float:
        """The highest possible score."""
        return self.cosine + self.text + self.recency + self.access


@dataclass(frozen=True, slots=True)
class Calibration:
    """What turns raw figures of one generation and space into terms; kept in its manifest."""

    text_k: float = 12.0
    """BM25 score that counts as one half."""
    cosine_low: float = 0.0
    """Cosine of unrelated texts in this space: counts as nothing."""
    cosine_high: float = 1.0
    """Cosine of texts that say the same: counts in full."""

    def to_dict(self) -> dict[str, float]:
        """As the manifest stores it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Calibration:
        """From a manifest; what it does not hold keeps its default."""
        known = {k: float(v) for k, v in found.items() if k in cls.__dataclass_fields__}
        return cls(**known)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Weights, time constant and calibration of one search."""

    weights: Weights = field(default_factory=Weights)
    recency_days: float = 14.0
    """Time constant T of exp(-age/T). Not a half-life: that is 0.69 T."""
    calibration: Calibration = field(default_factory=Calibration)

    def cosine_term(self, cosine: Floats) -> Floats:
        """Raw cosines rescaled to [0, 1]; 0 where there is no vector (NaN)."""
        low, high = self.calibration.cosine_low, self.calibration.cosine_high
        sound = np.clip(np.nan_to_num(cosine, nan=-1.0), -1.0, 1.0)
        scaled = np.where(np.isnan(cosine), 0.0, (sound - low) / max(high - low, 1e-9))
        return np.asarray(np.clip(scaled, 0.0, 1.0), np.float64)

    def text_term(self, bm25: Floats) -> Floats:
        """s/(s+k): 0 without a common word, one half at k, never quite 1."""
        score = np.maximum(np.nan_to_num(bm25, nan=0.0, posinf=0.0), 0.0)
        return score / (score + max(self.calibration.text_k, 1e-9))

    def recency_term(self, last_seen: Floats, now: float) -> Floats:
        """exp(-age/T), both times in seconds; what lies in the future is of age 0."""
        age = np.maximum(now - np.nan_to_num(last_seen, nan=-np.inf), 0.0)
        return np.asarray(np.exp(-age / (self.recency_days * SECONDS_PER_DAY)), np.float64)

    def access_term(self, uses: npt.NDArray[np.int64], most: int) -> Floats:
        """ln(1+n)/ln(1+most) within the tenant; 0 when nothing was ever used."""
        if most <= 0:
            return np.zeros(len(uses))
        term = np.log1p(np.maximum(uses, 0)) / np.log1p(most)
        return np.asarray(np.clip(term, 0.0, 1.0), np.float64)

    def score(self, cosine: Floats, text: Floats, recency: Floats, access: Floats) -> Floats:
        """The weighted sum of terms."""
        w = self.weights
        return w.cosine * cosine + w.text * text + w.recency * recency + w.access * access


def top(scores: Floats, k: int, order: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Positions of the ``k`` best scores, best first; equal ones by the smaller ``order``.

    Partial selection first: sorting a hundred thousand scores for ten of them costs more than
    making them.
    """
    if k <= 0 or not len(scores):
        return np.empty(0, np.int64)
    if k < len(scores):
        threshold = np.partition(scores, len(scores) - k)[len(scores) - k]
        picked = np.flatnonzero(scores >= threshold)
    else:
        picked = np.arange(len(scores))
    best = np.lexsort((order[picked], -scores[picked]))
    return np.asarray(picked[best][:k], np.int64)


def rank_of(values: Floats, position: int) -> int | None:
    """1 for the best value; None for a value of nothing (zero or NaN): it was not found there."""
    own = values[position]
    if not own > 0:
        return None
    return int(np.count_nonzero(values > own)) + 1
