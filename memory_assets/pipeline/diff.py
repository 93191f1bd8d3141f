"""Two texts side by side: what stands on one side only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

_WORDS: Final = re.compile(r"\s+|`[^`\n]*`|[\w.,]*\w|[^\w\s]")
_MOST: Final = 4_000
"""Longer texts are compared line by line: a word-by-word comparison grows with the square."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of one side; ``changed`` pieces are not on the other side."""

    text: str
    changed: bool


def side_by_side(left: str, right: str) -> tuple[list[Segment], list[Segment]]:
    """Both texts cut into segments; the unchanged ones are equal on both sides, in order."""
    long = len(left) + len(right) > _MOST
    a = left.splitlines(keepends=True) if long else _WORDS.findall(left)
    b = right.splitlines(keepends=True) if long else _WORDS.findall(right)
    ours: list[Segment] = []
    theirs: list[Segment] = []
    for kind, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        for side, text in ((ours, "".join(a[i:j])), (theirs, "".join(b[k:m]))):
            if text:
                side.append(Segment(text, kind != "equal"))
    return ours, theirs
