"""Two texts side by side: what stands on one side only."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

_WORDS: Final = re.compile(r"\s+|`[^`\n]*`|[\w.,]*\w|[^\w\s]")
_MOST: Final = 1_500
"""Pieces that are compared one by one: the work grows with the square of their number."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of one side; ``changed`` pieces are not on the other side."""

    text: str
    changed: bool


def side_by_side(left: str, right: str) -> tuple[list[Segment], list[Segment]]:
    """Both texts cut into segments; the unchanged ones are equal on both sides, in order.

    Word by word; where more than some 1,500 words differ in one stretch, that stretch is marked as
    a whole, so that no text makes a page wait.
    """
    a, b = _WORDS.findall(left), _WORDS.findall(right)
    start = _shared(a, b)
    end = _shared(a[start:][::-1], b[start:][::-1])
    stop_a, stop_b = len(a) - end, len(b) - end
    ours, theirs = _Side(), _Side()
    for side, words in ((ours, a), (theirs, b)):
        side.add(words[:start], changed=False)
    middle_a, middle_b = a[start:stop_a], b[start:stop_b]
    if len(middle_a) + len(middle_b) > _MOST:
        ours.add(middle_a, changed=True)
        theirs.add(middle_b, changed=True)
    else:
        matcher = SequenceMatcher(None, middle_a, middle_b, autojunk=False)
        for kind, i, j, k, m in matcher.get_opcodes():
            ours.add(middle_a[i:j], changed=kind != "equal")
            theirs.add(middle_b[k:m], changed=kind != "equal")
    ours.add(a[stop_a:], changed=False)
    theirs.add(b[stop_b:], changed=False)
    return ours.segments, theirs.segments


class _Side:
    def __init__(self) -> None:
        self.segments: list[Segment] = []

    def add(self, words: Sequence[str], *, changed: bool) -> None:
        if words:
            self.segments.append(Segment("".join(words), changed))


def _shared(a: Sequence[str], b: Sequence[str]) -> int:
    """How many pieces both begin with."""
    for count, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return count
    return min(len(a), len(b))
