"""Guards on names: literals, identifiers, codes, acronyms and proper names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from memory_assets.domain.guards.reading import Reading
from memory_assets.domain.guards.tokens import Token
from memory_assets.domain.guards.verdict import Outcome, Verdict, compare, passed

_QUOTED = re.compile(r"""(?<!\w)'[^'\n]*'(?!\w)|"[^"\n]*"|“[^”\n]*”|«[^»\n]*»""")
_SEPARATORS = re.compile(r"[-_.\s]")


def literals(a: Reading, b: Reading) -> Verdict:
    """Quoted values, letter by letter: ``'Male'`` and ``'male'`` select other rows.

    A value that the other text has without quotes counts as there.
    """
    return compare("literals", _literals(a, b), _literals(b, a))


def identifiers(a: Reading, b: Reading) -> Verdict:
    """Columns, tables and other technical names; case and a table prefix are left to a person."""
    guard = "identifiers"
    verdict = compare(guard, _identifiers(a, b), _identifiers(b, a))
    if verdict.outcome is Outcome.PASS:
        return verdict
    if verdict.only_a and all(any(_may_be(x, y) for y in verdict.only_b) for x in verdict.only_a):
        return Verdict(
            guard, Outcome.UNSURE, verdict.only_a, verdict.only_b, "case or prefix differs"
        )
    return verdict


def codes(a: Reading, b: Reading) -> Verdict:
    """Codes, versions and names with signs: ``X4``, ``v1.2``, ``C++``, ``Ω-3``."""
    guard = "codes"
    verdict = compare(guard, _codes(a, b), _codes(b, a))
    if verdict.outcome is Outcome.MISMATCH and _joined(verdict.only_a) == _joined(verdict.only_b):
        return Verdict(guard, Outcome.UNSURE, verdict.only_a, verdict.only_b, "only signs differ")
    return verdict


def lookalikes(a: Reading, b: Reading) -> Verdict:
    """Names that simplify to the same letters stay apart: C, C++ and C#; età and ET; Ω-3 and 3."""
    guard = "lookalikes"
    mine, theirs = _marks(a), _marks(b)
    left = [t for t in a.content if t.key not in theirs and t.kind != "lit"]
    right = [t for t in b.content if t.key not in mine and t.kind != "lit"]
    for x in left:
        for y in right:
            if _alike(x, y):
                return Verdict(guard, Outcome.MISMATCH, (x.text,), (y.text,), "different names")
    return passed(guard)


def names(a: Reading, b: Reading) -> Verdict:
    """Acronyms, class letters and proper names; an acronym of the other text's words passes."""
    guard = "names"
    left, right = _names(a, b), _names(b, a)
    verdict = compare(guard, left, right)
    other = verdict.outcome is Outcome.MISMATCH and a.language != b.language
    if other and not any(x.isupper() for x in verdict.only_a + verdict.only_b):
        return Verdict(guard, Outcome.UNSURE, verdict.only_a, verdict.only_b, "other language")
    return verdict


def signs(a: Reading, b: Reading) -> Verdict:
    """Signs on names, ``HIV+`` and ``HIV-``, ``R`` and ``R+``, and signs alone: ``✓`` and ``✗``.

    One word with two signs is two names; whatever else no other guard reads is left to a person.
    """
    guard = "signs"
    (left, plain_a), (right, plain_b) = a.signs, b.signs
    only_a = {key: text for key, text in left.items() if key not in right}
    only_b = {key: text for key, text in right.items() if key not in left}
    if not only_a and not only_b:
        return passed(guard)
    both = {word for word, _ in only_a} & {word for word, _ in only_b} - {""}
    outcome = Outcome.MISMATCH if both else Outcome.UNSURE
    bare_b = [plain_b[word] for word, _ in only_a if word in plain_b and word not in both]
    bare_a = [plain_a[word] for word, _ in only_b if word in plain_a and word not in both]
    shown_a, shown_b = [*only_a.values(), *bare_a], [*only_b.values(), *bare_b]
    return Verdict(guard, outcome, tuple(dict.fromkeys(shown_a)), tuple(dict.fromkeys(shown_b)))


def is_acronym_of(short: str, words: Iterable[str]) -> bool:
    """Whether the letters of ``short`` are the first letters of these words."""
    initials = "".join(w[0] for w in words if w)
    return len(short) > 1 and short.casefold() == initials.casefold()


def _literals(a: Reading, b: Reading) -> dict[str, str]:
    there = {t.value for t in b.of("lit")}
    around = _QUOTED.sub(" ", b.text)
    found = {}
    for token in a.of("lit"):
        if token.value in there or not re.search(rf"(?<!\w){re.escape(token.value)}(?!\w)", around):
            found[token.value] = token.text
    return found


def _identifiers(a: Reading, b: Reading) -> dict[str, str]:
    there = {t.value for t in b.of("id")}
    return {
        t.value: t.text
        for t in a.of("id")
        if t.value in there or not re.search(rf"(?<![\w.]){re.escape(t.value)}(?!\w)", b.text)
    }


def _may_be(x: str, y: str) -> bool:
    """Whether two names differ in case only, or one of them leaves its table out."""
    p, q = x.strip("`").casefold(), y.strip("`").casefold()
    return p == q or p.endswith("." + q) or q.endswith("." + p)


def _codes(a: Reading, b: Reading) -> dict[str, str]:
    quoted = {t.value for t in b.of("lit")}
    return {t.value: t.text for t in a.of("code") if t.value not in quoted}


def _joined(found: Iterable[str]) -> set[str]:
    return {_SEPARATORS.sub("", x).casefold() for x in found}


def _marks(reading: Reading) -> set[str]:
    return {t.key for t in reading.content} | {f"{t.kind}:{t.value}" for t in reading.tokens}


def _alike(x: Token, y: Token) -> bool:
    if "word" in (x.kind, y.kind) and x.kind == y.kind:
        return False
    if x.kind == y.kind == "num" or x.text.casefold() == y.text.casefold():
        return x.text != y.text and {x.kind, y.kind} == {"name", "word"}
    if _SEPARATORS.sub("", x.text.casefold()) == _SEPARATORS.sub("", y.text.casefold()):
        return False
    return bool(_letters(x) & _letters(y))


def _letters(token: Token) -> set[str]:
    """What is left of a name when accents are folded, and when other letters are dropped."""
    text = token.text.casefold()
    folded = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    dropped = text.encode("ascii", "ignore").decode()
    return {re.sub(r"[^a-z0-9]", "", t) for t in (folded, dropped)} - {""}


def _names(a: Reading, b: Reading) -> dict[str, str]:
    found = {}
    words = [t.text for t in b.of("word")]
    for token in a.of("name"):
        n = len(token.text)
        spelled = any(is_acronym_of(token.text, words[i : i + n]) for i in range(len(words)))
        if not spelled and token.value.casefold() not in {w.casefold() for w in words}:
            found[token.value] = token.text
    there = {t.value for t in b.of("word")}
    starts = _starts(a)
    for token in a.of("word"):
        if token.text[0].isupper() and token.start not in starts and token.value not in there:
            found[token.text] = token.text
    return found


def _starts(reading: Reading) -> set[int]:
    """Where sentences begin: a capital there says nothing."""
    found = {0}
    for match in re.finditer(r"[.:;!?(\n=]\s*|^\W+", reading.text):
        found.add(match.end())
    return found
