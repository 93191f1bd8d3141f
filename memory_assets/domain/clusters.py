"""Groups of memories that say the same: complete link, so that no chain ever joins strangers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Edge(NamedTuple):
    """Two items that may be in one group, and how close they are."""

    a: str
    b: str
    weight: float


def complete_link(edges: Iterable[Edge]) -> list[tuple[str, ...]]:
    """Groups of two or more in which every pair is an edge; each item is in at most one.

    The closest pairs join first; two groups join only if every pair across is an edge. Nothing
    can be added to the outcome: no two groups (or lone items) could still join. Ties go by name, so
    the order of the edges does not matter. Groups and their members are sorted.

    With edges A-B, B-C and no A-C there is no group of three, however close the neighbours are.
    """
    near: dict[str, set[str]] = {}
    weights: dict[tuple[str, str], float] = {}
    for a, b, weight in edges:
        if a == b:
            continue
        key = (a, b) if a < b else (b, a)
        weights[key] = max(weight, weights.get(key, weight))
        near.setdefault(a, set()).add(b)
        near.setdefault(b, set()).add(a)
    group_of: dict[str, list[str]] = {}
    for a, b in sorted(weights, key=lambda k: (-weights[k], k)):
        left, right = group_of.get(a, [a]), group_of.get(b, [b])
        if left is right:
            continue
        small, large = (left, right) if len(left) <= len(right) else (right, left)
        if all(near[x].issuperset(large) for x in small):
            joined = [*large, *small]
            for item in joined:
                group_of[item] = joined
    groups = {id(g): tuple(sorted(g)) for g in group_of.values()}
    return sorted(groups.values())
