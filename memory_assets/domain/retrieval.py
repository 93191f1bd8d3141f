"""How good a ranking is: recall, reciprocal rank and discounted gain of what a question needed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Final

CUTS: Final = (1, 5, 10)
"""Depths at which recall is reported; nDCG and MRR look at the deepest."""
DEPTH: Final = CUTS[-1]


@dataclass(frozen=True, slots=True)
class Quality:
    """Means over questions; each in [0, 1]."""

    questions: int
    recall_at_1: float
    recall_at_5: float
    recall_at_10: float
    mrr: float
    """Reciprocal rank of the first memory that was needed, 0 beyond rank 10."""
    ndcg: float
    """Normalised discounted cumulative gain at 10, every needed memory being worth the same."""

    def to_dict(self) -> dict[str, float]:
        """The figures, rounded for reading."""
        return {k: round(v, 4) for k, v in asdict(self).items()}


def quality(ranks: Iterable[Sequence[int | None]]) -> Quality:
    """The means over questions, each given as the ranks of the memories it needed.

    A rank counts from 1; None was not found at all. Recall is the share of needed memories among
    the first n, at most n of them being possible.
    """
    count = 0
    recalls = dict.fromkeys(CUTS, 0.0)
    reciprocal = gain = 0.0
    for needed in ranks:
        count += 1
        found = sorted(r for r in needed if r is not None)
        for cut in CUTS:
            recalls[cut] += sum(r <= cut for r in found) / min(len(needed), cut)
        if found and found[0] <= DEPTH:
            reciprocal += 1 / found[0]
        gain += _gain(found) / _gain(range(1, len(needed) + 1))
    scale = 1 / count if count else 0.0
    one, five, ten = (recalls[cut] * scale for cut in CUTS)
    return Quality(count, one, five, ten, reciprocal * scale, gain * scale)


def _gain(ranks: Iterable[int]) -> float:
    return sum(1 / math.log2(rank + 1) for rank in ranks if rank <= DEPTH)
