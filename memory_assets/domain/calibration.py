"""When may pairs merge without a person? Only when labelled pairs prove it.

Every reviewed proposal is a labelled pair. The operating point is the lowest cosine threshold at
which, among the labelled pairs that passed every guard, the *lower* confidence bound of precision
reaches the target. Few labels give a low bound, so an unproven model merges nothing by itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

DEFAULT_TARGET: Final = 0.95
DEFAULT_CONFIDENCE: Final = 0.95
_STEPS: Final = 60


@dataclass(frozen=True, slots=True)
class Label:
    """One pair whose truth is known."""

    cosine: float
    same: bool
    passed: bool
    """Every guard passed and the subject is the same: such a pair could merge by itself."""
    vetoed: bool = False
    """A guard says that the texts are different."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """What a threshold would do with the labelled pairs: counts and rates."""

    threshold: float
    merged_same: int
    merged_different: int
    missed: int
    """True pairs that this rule leaves apart."""
    lower: float
    """Lower confidence bound of the precision."""

    @property
    def precision(self) -> float:
        """Share of true pairs among the merged ones; 1 when nothing is merged."""
        merged = self.merged_same + self.merged_different
        return self.merged_same / merged if merged else 1.0

    @property
    def recall(self) -> float:
        """Share of the true pairs that are merged; 0 without true pairs."""
        true = self.merged_same + self.missed
        return self.merged_same / true if true else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both and self.merged_same else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The point as a row of the published table."""
        return {
            "threshold": self.threshold,
            "merged_same": self.merged_same,
            "merged_different": self.merged_different,
            "missed": self.missed,
            "precision": round(self.precision, 4),
            "recall": round(self.recall, 4),
            "f1": round(self.f1, 4),
            "precision_lower": round(self.lower, 4),
        }


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """What the labels earn: a threshold, or None and how many labels are there."""

    threshold: float | None
    labels: int
    """Labelled pairs that passed every guard."""
    errors: int
    """Of these at or above the threshold (or of all, without one): pairs that are different."""
    lower: float
    """Best lower bound reached."""
    target: float
    confidence: float

    def to_dict(self) -> dict[str, Any]:
        """The operating point as JSON and as evidence of a merge."""
        return {
            "threshold": self.threshold,
            "labels": self.labels,
            "errors": self.errors,
            "precision_lower": round(self.lower, 4),
            "target": self.target,
            "confidence": self.confidence,
        }


def lower_bound(successes: int, trials: int, confidence: float = DEFAULT_CONFIDENCE) -> float:
    """One-sided Clopper-Pearson lower bound of a share; 0 without trials.

    The largest p under which seeing so many successes, or more, has at most the probability
    1 - confidence. Exact, from the binomial tail: 59 successes of 59 give 0.95, 299 of 299 give
    0.99 (both at 95 %).
    """
    if not 0 <= successes <= trials:
        raise ValueError("successes must lie between 0 and the number of trials")
    if successes == 0:
        return 0.0
    alpha = 1.0 - confidence
    if successes == trials:
        return float(alpha ** (1.0 / trials))
    low, high = 0.0, successes / trials
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _tail(successes, trials, middle) > alpha:
            high = middle
        else:
            low = middle
    return low


def _tail(k: int, n: int, p: float) -> float:
    """P(X >= k) for a binomial X, summed from the largest term down."""
    if p <= 0.0:
        return 0.0
    log_p, log_q = math.log(p), math.log1p(-p)
    base = math.lgamma(n + 1)
    terms = (
        base - math.lgamma(i + 1) - math.lgamma(n - i + 1) + i * log_p + (n - i) * log_q
        for i in range(k, n + 1)
    )
    return math.fsum(math.exp(t) for t in terms)


def curve(
    labels: Sequence[Label],
    thresholds: Sequence[float],
    *,
    guards: bool,
    confidence: float = DEFAULT_CONFIDENCE,
) -> tuple[CurvePoint, ...]:
    """One point per threshold; with ``guards`` a vetoed pair is never merged."""
    true = sum(x.same for x in labels)
    points = []
    for threshold in thresholds:
        merged = [x for x in labels if x.cosine >= threshold and not (guards and x.vetoed)]
        same = sum(x.same for x in merged)
        bound = lower_bound(same, len(merged), confidence)
        points.append(CurvePoint(threshold, same, len(merged) - same, true - same, bound))
    return tuple(points)


def operating_point(
    labels: Sequence[Label],
    *,
    target: float = DEFAULT_TARGET,
    confidence: float = DEFAULT_CONFIDENCE,
) -> OperatingPoint:
    """The lowest threshold whose lower bound reaches the target; none while evidence is thin.

    Only pairs that passed every guard count. Thresholds go from the highest cosine down. Once the
    target was reached, the search ends where it is lost again: a lower threshold that regains it
    would be taken by luck.
    """
    passed = sorted((x for x in labels if x.passed), key=lambda x: -x.cosine)
    threshold: float | None = None
    best = 0.0
    same = 0
    errors = 0
    for n, label in enumerate(passed, 1):
        same += label.same
        if n < len(passed) and passed[n].cosine == label.cosine:
            continue
        bound = lower_bound(same, n, confidence)
        best = max(best, bound)
        if bound >= target:
            threshold, errors = label.cosine, n - same
        elif threshold is not None:
            break
    if threshold is None:
        errors = len(passed) - sum(x.same for x in passed)
    return OperatingPoint(threshold, len(passed), errors, best, target, confidence)


def b_cubed(truth: Sequence[int], found: Sequence[int]) -> tuple[float, float]:
    """B-cubed precision and recall of a clustering, both given as one cluster number per item.

    For each item: the share of its found cluster that truly belongs with it, and the share of its
    true cluster that was found with it; then the mean over all items (Bagga and Baldwin, 1998).
    """
    if len(truth) != len(found):
        raise ValueError("both clusterings must be of the same items")
    if not truth:
        return 1.0, 1.0
    in_truth: dict[int, int] = {}
    in_found: dict[int, int] = {}
    in_both: dict[tuple[int, int], int] = {}
    for t, f in zip(truth, found, strict=True):
        in_truth[t] = in_truth.get(t, 0) + 1
        in_found[f] = in_found.get(f, 0) + 1
        in_both[t, f] = in_both.get((t, f), 0) + 1
    n = len(truth)
    precision = sum(c * c / in_found[f] for (_, f), c in in_both.items()) / n
    recall = sum(c * c / in_truth[t] for (t, _), c in in_both.items()) / n
    return precision, recall


def folds(links: Sequence[tuple[str, str]], k: int = 5) -> list[int]:
    """A fold number per pair; pairs that share a text, however remotely, are in one fold.

    So a label never judges a text that taught the threshold. Deterministic: the largest groups go
    first, each to the fold that has the fewest pairs.
    """
    groups = components(links)
    members: dict[int, list[int]] = {}
    for pair, (left, _) in enumerate(links):
        members.setdefault(groups[left], []).append(pair)
    sizes = [0] * k
    found = [0] * len(links)
    for group in sorted(members.values(), key=lambda ps: (-len(ps), ps[0])):
        fold = sizes.index(min(sizes))
        sizes[fold] += len(group)
        for pair in group:
            found[pair] = fold
    return found


def components(links: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Each name's group: names that links join, directly or not, share a number."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        parent.setdefault(name, name)
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for left, right in links:
        x, y = root(left), root(right)
        if x != y:
            parent[max(x, y)] = min(x, y)
    numbers: dict[str, int] = {}
    return {name: numbers.setdefault(root(name), len(numbers)) for name in parent}
