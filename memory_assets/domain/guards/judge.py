"""All guards on one pair: the registered list, and what their verdicts amount to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final, Literal

from memory_assets.domain.guards import structure, symbols, values, wording
from memory_assets.domain.guards.reading import Reading, read, read_pair
from memory_assets.domain.guards.verdict import Outcome, Verdict
from memory_assets.domain.keys import normalise

RULE_VERSION: Final = "guards-v2"
"""Raised whenever a guard, or the data of a language, may answer differently."""

Guard = Callable[[Reading, Reading], Verdict]
GUARDS: Final[tuple[Guard, ...]] = (
    structure.subject,
    values.numbers,
    values.dates,
    values.operators,
    values.units,
    values.booleans,
    values.assignments,
    wording.negation,
    wording.quantifiers,
    wording.logic,
    wording.grain,
    wording.aggregates,
    symbols.literals,
    symbols.identifiers,
    symbols.codes,
    symbols.lookalikes,
    symbols.names,
    symbols.signs,
    wording.polarity,
    structure.direction,
    structure.roles,
    structure.content,
    wording.remainder,
)
"""The one place where guards are listed; those that decide most pairs at little cost come first."""

LONGEST: Final = 12_000
"""Characters of two texts together that guards still look at."""

_normal = lru_cache(maxsize=1 << 15)(normalise)
"""A text meets many others; its normal form is worked out once."""

_UNREAD: Final = Verdict(
    "length", Outcome.UNSURE, note=f"too long to judge (over {LONGEST:,} characters): for review"
)

Relation = Literal["equal", "alike", "contains", "contained", "unsure", "different"]
"""``contains``: the first text says all that the second one says, and more."""


@dataclass(frozen=True)
class Judgement:
    """What the guards say about a pair."""

    verdicts: tuple[Verdict, ...]
    equal: bool
    """The texts are equal after normalisation."""

    @cached_property
    def outcome(self) -> Outcome:
        """The worst verdict."""
        return max((v.outcome for v in self.verdicts), default=Outcome.PASS)

    @cached_property
    def relation(self) -> Relation:
        """What the pair looks like; only ``equal`` and ``alike`` may ever merge by themselves."""
        if self.equal:
            return "equal"
        if self.outcome is Outcome.MISMATCH:
            return "different"
        if self.outcome is Outcome.PASS:
            return "alike"
        extra_a = any(v.only_a for v in self.differing)
        extra_b = any(v.only_b for v in self.differing)
        if extra_a != extra_b:
            return "contains" if extra_a else "contained"
        return "unsure"

    @property
    def differing(self) -> tuple[Verdict, ...]:
        """The verdicts that are no pass."""
        return tuple(v for v in self.verdicts if v.outcome)

    @property
    def blocking(self) -> tuple[Verdict, ...]:
        """The verdicts that make the pair different."""
        return tuple(v for v in self.verdicts if v.outcome is Outcome.MISMATCH)

    def to_dict(self) -> dict[str, Any]:
        """The judgement as evidence; verdicts that passed are named only."""
        return {
            "rule_version": RULE_VERSION,
            "relation": self.relation,
            "passed": [v.guard for v in self.verdicts if not v.outcome],
            "verdicts": [v.to_dict() for v in self.differing],
        }


def judge(
    a: str,
    b: str,
    *,
    subject_a: str | None = None,
    subject_b: str | None = None,
    complete: bool = True,
) -> Judgement:
    """All guards on two definitions.

    ``a`` and ``b`` are the compared texts (with the subject in their first line, where there is
    one); subjects that are given are compared as such. Without ``complete`` the first mismatch ends
    the work: enough for routing, not for an explanation.

    Texts beyond a few pages are compared for equality only: the guards' work grows faster than the
    text, and a person has to read such a definition anyway. The verdict says so, and such a pair
    never merges by itself.
    """
    if _normal(a) == _normal(b):
        return Judgement((), equal=True)
    if len(a) + len(b) > LONGEST:
        return Judgement((_UNREAD,), equal=False)
    left, right = read_pair(a, b)
    found = []
    for guard in GUARDS:
        if guard is structure.subject and subject_a is not None and subject_b is not None:
            verdict = _given_subjects(subject_a, subject_b, left, right)
        else:
            verdict = guard(left, right)
        found.append(verdict)
        if verdict.outcome is Outcome.MISMATCH and not complete:
            break
    return Judgement(tuple(found), equal=False)


def _given_subjects(subject_a: str, subject_b: str, a: Reading, b: Reading) -> Verdict:
    if _normal(subject_a) == _normal(subject_b):
        return Verdict("subject", Outcome.PASS)
    subjects = read(subject_a, a.language), read(subject_b, b.language)
    left, right = list(subjects[0].content), list(subjects[1].content)
    verdict = structure.heads(left, right, a, b)
    if verdict.outcome is Outcome.PASS:
        return Verdict("subject", Outcome.UNSURE, (subject_a,), (subject_b,), "other wording")
    if verdict.outcome is Outcome.MISMATCH and a.language != b.language:
        return Verdict("subject", Outcome.UNSURE, (subject_a,), (subject_b,), "other language")
    return verdict
