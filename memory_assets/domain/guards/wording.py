"""Guards on small words that turn a meaning: negation, quantifiers, logic, grain, aggregates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from memory_assets.domain.guards.languages import LANGUAGE_CODES, lexicon
from memory_assets.domain.guards.lexicon import Lexicon
from memory_assets.domain.guards.reading import Reading
from memory_assets.domain.guards.tokens import CONTENT, Token
from memory_assets.domain.guards.verdict import Outcome, Verdict, compare, only, passed

_SMALL: Final = frozenset(
    {"dir", "rel", "modal", "cal", "q", "neg", "op", "post", "scale", "prep", "null", "bool"}
)
_OPPOSITE_CONCEPTS: Final = (
    ("rel:before", "rel:after"),
    ("rel:since", "rel:until"),
    ("rel:plus", "rel:minus"),
    ("rel:times", "rel:div"),
    ("rel:minus", "rel:div"),
    ("rel:plus", "rel:times"),
    ("dir:past", "dir:next"),
    ("dir:past", "dir:current"),
    ("dir:next", "dir:current"),
    ("cal:fiscal", "cal:calendar"),
    ("modal:must", "modal:may"),
    ("q:all", "q:some"),
    ("q:both", "q:either"),
    ("q:exactly", "q:approx"),
)


def negation(a: Reading, b: Reading) -> Verdict:
    """Negation, exclusion and inclusion: how often, and what they belong to.

    A negated clause that the other text lacks as a whole is left to a person: one text says more.
    """
    guard = "negation"
    left, right = _negations(a), _negations(b)
    if len(left) != len(right):
        more, less, other = (left, right, b) if len(left) > len(right) else (right, left, a)
        texts = tuple(t.text for t in left), tuple(t.text for t in right)
        extra = [t for t in more if _absent(a if more is left else b, other, t)]
        if len(extra) >= len(more) - len(less):
            return Verdict(guard, Outcome.UNSURE, *texts, "a clause that the other text lacks")
        fewer = b if more is left else a
        if sum(t.value == "minus" for t in fewer.of("rel")) >= len(more) - len(less):
            return Verdict(guard, Outcome.UNSURE, *texts, "one says excluding, one says net of")
        if (len(more) - len(less)) % 2 and _booleans_differ(a, b):
            return Verdict(
                guard, Outcome.UNSURE, *texts, "the booleans differ too, so perhaps equal"
            )
        return Verdict(guard, Outcome.MISMATCH, *texts)
    if left and a.language == b.language:
        x, y = _negated(a, b, left), _negated(b, a, right)
        if x and y and not x.keys() & y.keys():
            return Verdict(
                guard,
                Outcome.MISMATCH,
                tuple(x.values()),
                tuple(y.values()),
                "other things negated",
            )
    return passed(guard)


def quantifiers(a: Reading, b: Reading) -> Verdict:
    """Only, exactly, about, all and at least one: leaving ``only`` out changes what is counted."""
    guard = "quantifiers"
    left, right = _concepts(a, "q"), _concepts(b, "q")
    lost_a = tuple(t for v, t in left.items() if v == "only" and v not in right)
    lost_b = tuple(t for v, t in right.items() if v == "only" and v not in left)
    if lost_a or lost_b:
        return Verdict(guard, Outcome.MISMATCH, lost_a, lost_b)
    for all_of, some_of in ((a, b), (b, a)):
        if _all_only(all_of) and _at_least_one(some_of) and "q:all" not in some_of.keys:
            texts = tuple(left.values()), tuple(right.values())
            return Verdict(guard, Outcome.MISMATCH, *texts, "all of them, or at least one")
    weak = {"all", "both", "some", "either"}
    rest = [{v: t for v, t in side.items() if v not in weak} for side in (left, right)]
    return compare(guard, rest[0], rest[1])


def logic(a: Reading, b: Reading) -> Verdict:
    """``and`` turned into ``or``: the one grows by what the other loses."""
    guard = "logic"
    (or_a, and_a), (or_b, and_b) = _logic(a), _logic(b)
    ors, ands = len(or_a) - len(or_b), len(and_a) - len(and_b)
    if ors == 0:
        return passed(guard)
    texts = tuple(or_a) or tuple(and_a), tuple(or_b) or tuple(and_b)
    if ors * ands < 0:
        return Verdict(guard, Outcome.MISMATCH, *texts)
    return Verdict(guard, Outcome.UNSURE, *texts)


def grain(a: Reading, b: Reading) -> Verdict:
    """The time grain of a count: by day, month, year; ``in months`` may say the same."""
    units_a, units_b = _free_units(a), _free_units(b)
    left = {v: t for v, t in _concepts(a, "grain").items() if v not in units_b}
    right = {v: t for v, t in _concepts(b, "grain").items() if v not in units_a}
    shared = _concepts(a, "grain").keys() & _concepts(b, "grain").keys()
    return compare("grain", left, right | {v: "" for v in shared if v in left})


def aggregates(a: Reading, b: Reading) -> Verdict:
    """How values become one figure: count, sum, mean, median, distinct.

    A lone ``count`` beside another aggregate is only its verb (``counted as a sum``).
    """
    guard = "aggregates"
    left, right = _aggregates(a), _aggregates(b)
    verdict = compare(guard, left, right, one_sided=Outcome.MISMATCH)
    extra = (left.keys() ^ right.keys()) - {"count", "ratio"}
    if verdict.outcome is Outcome.MISMATCH and not extra:
        return Verdict(guard, Outcome.UNSURE, verdict.only_a, verdict.only_b)
    if verdict.outcome and all(_soft(r, v) for r, v in _lonely(a, b, left, right)):
        both = bool(verdict.only_a) and bool(verdict.only_b)
        outcome = Outcome.MISMATCH if both else Outcome.UNSURE
        return Verdict(guard, outcome, verdict.only_a, verdict.only_b)
    return verdict


def polarity(a: Reading, b: Reading) -> Verdict:
    """Opposites: gross and net, first and last, active and inactive, before and after."""
    guard = "polarity"
    mine, theirs = {t.key: t for t in a.tokens}, {t.key: t for t in b.tokens}
    for x, y in _OPPOSITE_CONCEPTS:
        for p, q in ((x, y), (y, x)):
            if p in mine and q in theirs and p not in theirs and q not in mine:
                return Verdict(guard, Outcome.MISMATCH, (mine[p].text,), (theirs[q].text,))
    sides_a, sides_b = _sides(a), _sides(b)
    for axis in sides_a.keys() & sides_b.keys():
        here, there = sides_a[axis], sides_b[axis]
        if not here.keys() & there.keys():
            texts = tuple(here.values()), tuple(there.values())
            return Verdict(guard, Outcome.MISMATCH, *texts, axis)
    left = [t for k, t in mine.items() if t.kind == "word" and k not in theirs]
    right = [t for k, t in theirs.items() if t.kind == "word" and k not in mine]
    for p_token in left:
        for q_token in right:
            if _negates(p_token.text, q_token.text, _lexicons(a, b)):
                return Verdict(guard, Outcome.MISMATCH, (p_token.text,), (q_token.text,))
    return passed(guard)


def remainder(a: Reading, b: Reading) -> Verdict:
    """Every other small word that only one text has: directions, prepositions, modals, signs.

    None of them proves a difference, but a pair that differs in one is not for a rule to merge.
    """
    left, right = _small_words(a), _small_words(b)
    only_a, only_b = only(left, right), only(right, left)
    if not only_a and not only_b:
        return passed("remainder")
    return Verdict("remainder", Outcome.UNSURE, only_a, only_b)


def _small_words(reading: Reading) -> dict[str, str]:
    found = {_small_key(t): t.text for t in reading.tokens if t.kind in _SMALL}
    found.pop("op:=", None)
    return found


def _small_key(token: Token) -> str:
    return f"op:{token.value}" if token.kind == "post" else token.key


def _all_only(reading: Reading) -> bool:
    return "q:all" in reading.keys and not _at_least_one(reading)


def _at_least_one(reading: Reading) -> bool:
    return "q:some" in reading.keys or any(
        q.value == 1 and q.op == ">=" for q in reading.quantities
    )


def _lexicons(*readings: Reading) -> list[Lexicon]:
    codes = {r.language for r in readings if r.language}
    return [lexicon(c) for c in sorted(codes or LANGUAGE_CODES)]


def _sides(reading: Reading) -> dict[str, dict[int, str]]:
    """Axis of opposition → side → the word of the text that stands there."""
    found: dict[str, dict[int, str]] = {}
    for token in reading.of("word"):
        for known in _lexicons(reading):
            for axis, side in known.opposites.get(token.value, ()):
                found.setdefault(axis, {}).setdefault(side, token.text)
    return found


def _negates(x: str, y: str, known: list[Lexicon]) -> bool:
    """Whether one word is the other behind a negative prefix: active, inactive."""
    short, long = sorted((x.lower(), y.lower()), key=len)
    return len(short) >= 4 and any(
        long == prefix + short for lex in known for prefix in lex.negative_prefixes
    )


def _negations(reading: Reading) -> list[Token]:
    return [t for t in reading.tokens if t.kind == "neg" or (t.kind == "op" and t.value == "!=")]


def _clause(reading: Reading, token: Token) -> list[Token]:
    return [t for t in reading.tokens if t.clause == token.clause and t.kind in CONTENT]


def _absent(reading: Reading, other: Reading, token: Token) -> bool:
    """Whether nothing of the negated clause is in the other text."""
    kinds = CONTENT if reading.language == other.language else CONTENT - {"word", "name"}
    said = [t for t in _clause(reading, token) if t.kind in kinds]
    there = {t.key for t in other.content}
    return bool(said) and not any(t.key in there for t in said)


def _negated(reading: Reading, other: Reading, found: list[Token]) -> dict[str, str]:
    """What stands in negated clauses only, as far as the other text has it too."""
    clauses = {t.clause for t in found}
    outside = {t.key for t in reading.content if t.clause not in clauses}
    there = {t.key for t in other.content}
    return {
        t.key: t.text
        for t in reading.content
        if t.clause in clauses and t.key not in outside and t.key in there
    }


def _booleans_differ(a: Reading, b: Reading) -> bool:
    left, right = {t.value for t in a.of("bool")}, {t.value for t in b.of("bool")}
    return bool(left - right) and bool(right - left)


def _concepts(reading: Reading, kind: str) -> dict[str, str]:
    return {t.value: t.text for t in reading.of(kind)}


def _free_units(reading: Reading) -> set[str]:
    """Units that belong to no number."""
    return {t.value for t in reading.of("unit")} - {q.unit for q in reading.quantities}


def _logic(reading: Reading) -> tuple[list[str], list[str]]:
    found = reading.of("logic")
    ors, ands = (
        [t.text for t in found if t.value == "or"],
        [t.text for t in found if t.value == "and"],
    )
    return ors, ands


def _aggregates(reading: Reading) -> dict[str, str]:
    found = {t.value.rstrip("?"): t.text for t in reading.of("agg")}
    if found.keys() - {"count", "distinct", "ratio"}:
        found.pop("count", None)
    return found


def _lonely(
    a: Reading, b: Reading, left: Iterable[str], right: Iterable[str]
) -> list[tuple[Reading, str]]:
    x, y = set(left), set(right)
    return [(a, v) for v in x - y] + [(b, v) for v in y - x]


def _soft(reading: Reading, value: str) -> bool:
    """Whether the aggregate is said in a word that may mean less (``total``, ``share of``)."""
    return value == "count" or not any(t.value == value for t in reading.of("agg"))
