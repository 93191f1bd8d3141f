"""What a guard answers, and the comparison that most guards share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Any


class Outcome(IntEnum):
    """The three answers, from harmless to final."""

    PASS = 0
    """Nothing of this kind differs."""
    UNSURE = 1
    """Something differs that may or may not matter: a person has to look."""
    MISMATCH = 2
    """The texts say different things; no cosine makes up for it."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One guard's answer about a pair, with the tokens that differ, as they are written."""

    guard: str
    outcome: Outcome
    only_a: tuple[str, ...] = ()
    only_b: tuple[str, ...] = ()
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The verdict as JSON and as evidence of a merge."""
        return {
            "guard": self.guard,
            "outcome": self.outcome.name.lower(),
            "only_a": list(self.only_a),
            "only_b": list(self.only_b),
            "note": self.note,
        }


@lru_cache(maxsize=64)
def passed(guard: str) -> Verdict:
    """Nothing differs."""
    return Verdict(guard, Outcome.PASS)


def compare(
    guard: str,
    a: Mapping[str, str],
    b: Mapping[str, str],
    *,
    one_sided: Outcome = Outcome.UNSURE,
    note: str = "",
) -> Verdict:
    """The verdict on two sets of meanings (canonical value → as written).

    Each side has something that the other lacks: mismatch. Only one side has more: ``one_sided``,
    since a definition that says more may still say the same.
    """
    only_a, only_b = only(a, b), only(b, a)
    if not only_a and not only_b:
        return passed(guard)
    outcome = Outcome.MISMATCH if only_a and only_b else one_sided
    return Verdict(guard, outcome, only_a, only_b, note if outcome else "")


def only(a: Mapping[str, str], b: Iterable[str]) -> tuple[str, ...]:
    """As written: what ``a`` has and ``b`` lacks, in order."""
    known = set(b)
    return tuple(dict.fromkeys(text for key, text in a.items() if key not in known))
