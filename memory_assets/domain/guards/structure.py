"""Guards on the whole: what is defined, who stands where, and which content words differ."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Final

from memory_assets.domain.guards.reading import CONTENT, Reading, Token
from memory_assets.domain.guards.symbols import is_acronym_of
from memory_assets.domain.guards.verdict import Outcome, Verdict, passed

_HEAD: Final = re.compile(
    r"^\s*(?:note:|nota:|nb:)?\s*(?P<head>[^=:.;]{1,70}?)\s*"
    r"(?:=|:|\((?=[^)]*\)\s*(?:=|:|is\b|are\b|means?\b|è\b|sono\b|significa))|"
    r"\b(?:means?|is|are|denotes?|significa|significano|indica|indicano|è|sono)(?=\s))",
    re.IGNORECASE,
)
_PIVOTS: Final = frozenset(
    "rel:before rel:after rel:minus rel:div rel:since rel:until rel:instead op:> op:< op:>= op:<=".split()
)
_SWAP_WORDS: Final = 4
"""A swapped part of at most so many words, in an otherwise equal text, is another concept."""
_SMALL_EDIT: Final = 2
_SAME_SHARE: Final = 0.6


def subject(a: Reading, b: Reading) -> Verdict:
    """What is defined: the words before ``=``, ``:``, ``means``; aliases and acronyms pass."""
    guard = "subject"
    left, right = _head(a), _head(b)
    if not left or not right or a.language != b.language:
        return passed(guard)
    return heads(left, right, a, b)


def heads(left: list[Token], right: list[Token], a: Reading, b: Reading) -> Verdict:
    """The verdict on two headings within their texts."""
    guard = "subject"
    there_b, there_a = {t.value for t in b.content}, {t.value for t in a.content}
    only_a = [t for t in left if t.value not in there_b]
    only_b = [t for t in right if t.value not in there_a]
    if not only_a and not only_b:
        return passed(guard)
    texts = tuple(t.text for t in only_a), tuple(t.text for t in only_b)
    if not (only_a and only_b):
        return Verdict(guard, Outcome.UNSURE, *texts)
    short, long = sorted((left, right), key=len)
    if len(short) == 1 and is_acronym_of(short[0].text, [t.text for t in long]):
        return Verdict(guard, Outcome.UNSURE, *texts, "an acronym")
    return Verdict(guard, Outcome.MISMATCH, *texts)


def roles(a: Reading, b: Reading) -> Verdict:
    """Who stands where: ``A minus B`` is not ``B minus A``, ``not A but B`` not ``not B but A``.

    The same words in another order are left to a person, lists joined by ``and`` or ``or`` apart.
    """
    guard = "roles"
    for pivot in _PIVOTS:
        swapped = _swapped(_around(a, pivot), _around(b, pivot))
        if swapped:
            return Verdict(guard, Outcome.MISMATCH, *swapped, f"changed sides of {pivot.split(':')[1]}")
    left, right = _order(a, b), _order(b, a)
    keys_a, keys_b = [t.key for t in left], [t.key for t in right]
    if keys_a == keys_b or _list_sorted(a, left) == _list_sorted(b, right):
        return passed(guard)
    moved = [(x.text, y.text) for x, y in zip(left, right, strict=True) if x.key != y.key]
    return Verdict(
        guard, Outcome.UNSURE, tuple(x for x, _ in moved), tuple(y for _, y in moved), "other order"
    )


def content(a: Reading, b: Reading) -> Verdict:
    """Content words that only one text has.

    A small part swapped within an otherwise equal text is another concept; words that one text
    adds may make it say more, and texts that differ widely may still say the same: both are left
    to a person. Texts of two languages share no words to compare.
    """
    guard = "content"
    there_b, there_a = {t.value for t in b.of("word")}, {t.value for t in a.of("word")}
    only_a = [t for t in a.of("word") if not _known(t.value, there_b)]
    only_b = [t for t in b.of("word") if not _known(t.value, there_a)]
    texts = _shown(only_a), _shown(only_b)
    if not only_a and not only_b:
        return passed(guard)
    if a.language and b.language and a.language != b.language:
        return Verdict(guard, Outcome.UNSURE, note="two languages")
    if only_a and only_b and _is_swap(a, b, {t.value for t in only_a}, {t.value for t in only_b}):
        return Verdict(guard, Outcome.MISMATCH, *texts, "swapped within the same text")
    return Verdict(guard, Outcome.UNSURE, *texts)


def _head(reading: Reading) -> list[Token]:
    found = _HEAD.match(reading.text)
    if not found:
        return []
    end = found.end("head")
    kinds = ("word", "name", "code", "id", "lit")
    return [t for t in reading.tokens if t.kind in kinds and t.end <= end][:6]


def _shown(tokens: list[Token]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(t.text for t in tokens))


def _known(stem: str, there: set[str]) -> bool:
    """Whether the other text has the word or one of its near forms."""
    if stem in there:
        return True
    if len(stem) < 5:
        return False
    return any(len(o) >= 5 and abs(len(o) - len(stem)) <= 3 and o[:5] == stem[:5] for o in there)


def _is_swap(a: Reading, b: Reading, only_a: set[str], only_b: set[str]) -> bool:
    left, right = [t.key for t in a.tokens], [t.key for t in b.tokens]
    blocks = [
        op
        for op in SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
        if op[0] != "equal"
    ]
    same = len(left) - sum(op[2] - op[1] for op in blocks)
    replaced = [
        op
        for op in blocks
        if op[0] == "replace"
        and any(k.removeprefix("word:") in only_a for k in left[op[1] : op[2]])
        and any(k.removeprefix("word:") in only_b for k in right[op[3] : op[4]])
    ]
    if len(blocks) == 1 and replaced:
        size = max(blocks[0][2] - blocks[0][1], blocks[0][4] - blocks[0][3])
        return size <= _SWAP_WORDS and same >= 1
    small = len(only_a) <= _SMALL_EDIT and len(only_b) <= _SMALL_EDIT
    return small and bool(replaced) and same >= _SAME_SHARE * max(len(left), len(right))


def _around(reading: Reading, pivot: str) -> tuple[set[str], set[str]] | None:
    """Content on either side of the only pivot of this kind, within its clause and its list."""
    found = [i for i, t in enumerate(reading.tokens) if t.key == pivot]
    if len(found) != 1:
        return None
    at = found[0]
    clause = reading.tokens[at].clause
    near = (clause, clause + 1)
    left = {t.key for t in reading.tokens[:at] if t.kind in CONTENT and t.clause == clause}
    right = {t.key for t in reading.tokens[at + 1 :] if t.kind in CONTENT and t.clause in near}
    return left, right


def _swapped(
    a: tuple[set[str], set[str]] | None, b: tuple[set[str], set[str]] | None
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    if a is None or b is None:
        return None
    moved_right = (a[0] - a[1]) & (b[1] - b[0])
    moved_left = (a[1] - a[0]) & (b[0] - b[1])
    if not moved_right or not moved_left:
        return None
    show = [tuple(sorted(k.partition(":")[2] for k in side)) for side in (moved_right, moved_left)]
    return show[0], show[1]


def _order(a: Reading, b: Reading) -> list[Token]:
    """Tokens that both texts hold once, in the order of ``a``."""
    count_a = _counts(a)
    count_b = _counts(b)
    return [t for t in a.content if count_a[t.key] == 1 == count_b.get(t.key, 0)]


def _counts(reading: Reading) -> dict[str, int]:
    found: dict[str, int] = {}
    for token in reading.content:
        found[token.key] = found.get(token.key, 0) + 1
    return found


def _list_sorted(reading: Reading, tokens: list[Token]) -> list[str]:
    """Keys with the members of each list (``A and B``, ``A or B``) in alphabetical order."""
    joins = {t.start for t in reading.of("logic")} | {
        t.start for t in reading.tokens if t.key in ("rel:plus", "rel:times")
    }
    out: list[str] = []
    group: list[str] = []
    previous: Token | None = None
    for token in tokens:
        joined = previous is not None and _only_joins(reading, previous, token, joins)
        if not joined:
            out += sorted(group)
            group = []
        group.append(token.key)
        previous = token
    return out + sorted(group)


def _only_joins(reading: Reading, x: Token, y: Token, joins: set[int]) -> bool:
    between = [t for t in reading.tokens if x.end <= t.start and t.end <= y.start]
    return bool(between) and all(t.start in joins for t in between)
