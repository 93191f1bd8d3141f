"""Guards on the whole: what is defined, who stands where, and which content words differ."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final

from memory_assets.domain.guards.languages import LANGUAGE_CODES, lexicon
from memory_assets.domain.guards.reading import Reading
from memory_assets.domain.guards.symbols import is_acronym_of
from memory_assets.domain.guards.tokens import CONTENT, Token
from memory_assets.domain.guards.verdict import Outcome, Verdict, passed
from memory_assets.domain.text import plain

_PIVOTS: Final = frozenset(
    {
        *("rel:before", "rel:after", "rel:minus", "rel:div", "rel:since", "rel:until"),
        *("rel:instead", "op:>", "op:<", "op:>=", "op:<="),
    }
)
_UNORDERED: Final = frozenset({"prep", "logic", "incl", "q", "modal"})
_PLACE: Final = 3
_BETWEEN: Final = 2
_HEAD_TOKENS: Final = 6
_GOVERNED: Final = 2
_TURNED: Final = ({"from", "to"}, {"by", "to"})
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
    shared = {t.value for t in left} & {t.value for t in right}
    if any(t.kind in ("lit", "id", "code", "name") and t.value in shared for t in left):
        return Verdict(guard, Outcome.UNSURE, *texts, "one name in both")
    short, long = sorted((left, right), key=len)
    if len(short) == 1 and is_acronym_of(short[0].text, [t.text for t in long]):
        return Verdict(guard, Outcome.UNSURE, *texts, "an acronym")
    return Verdict(guard, Outcome.MISMATCH, *texts)


def roles(a: Reading, b: Reading) -> Verdict:
    """Who stands where: ``A minus B`` is not ``B minus A``, ``not A but B`` not ``not B but A``.

    The same words in another order are left to a person, lists joined by ``and`` or ``or`` apart.
    """
    guard = "roles"
    for pivot in _PIVOTS & a.keys & b.keys:
        swapped = _swapped(_around(a, pivot), _around(b, pivot))
        if swapped:
            return Verdict(
                guard, Outcome.MISMATCH, *swapped, f"changed sides of {pivot.split(':')[1]}"
            )
    left, right = _shared(a, b), _shared(b, a)
    if _orders(a, left) == _orders(b, right):
        return passed(guard)
    crossed = _crossed(a, b)
    if crossed:
        return Verdict(guard, Outcome.MISMATCH, *crossed, "changed places")
    moved = [(x.text, y.text) for x, y in zip(left, right, strict=False) if x.key != y.key]
    return Verdict(
        guard, Outcome.UNSURE, tuple(x for x, _ in moved), tuple(y for _, y in moved), "other order"
    )


def direction(a: Reading, b: Reading) -> Verdict:
    """Which way things go: sold *by* and sold *to* customers, *from* and *to* an account."""
    guard = "direction"
    left, right = _ways(a), _ways(b)
    turned: list[tuple[Token, Token]] = []
    other: list[tuple[Token, Token]] = []
    for key in left.keys() & right.keys():
        x, y = left[key], right[key]
        if not x.keys() & y.keys():
            hard = any({p, q} in _TURNED for p in x for q in y)
            (turned if hard else other).append((next(iter(x.values())), next(iter(y.values()))))
    found = turned or other
    if not found:
        return passed(guard)
    outcome = Outcome.MISMATCH if turned else Outcome.UNSURE
    return Verdict(guard, outcome, tuple(x.text for x, _ in found), tuple(y.text for _, y in found))


def content(a: Reading, b: Reading) -> Verdict:
    """Content words that only one text has.

    A small part swapped within an otherwise equal text is another concept. Words that one text
    adds may make it say more, near forms and synonyms may not mean the same, and texts that differ
    widely may still say the same: these are left to a person. Texts of two languages share no
    words to compare.
    """
    guard = "content"
    words_a, words_b = a.of("word"), b.of("word")
    only_a = [t for t in words_a if not any(_same_word(t, o, a.language) for o in words_b)]
    only_b = [t for t in words_b if not any(_same_word(t, o, a.language) for o in words_a)]
    if not only_a and not only_b:
        return passed(guard)
    if a.language and b.language and a.language != b.language:
        return Verdict(guard, Outcome.UNSURE, note="two languages")
    texts = _shown(only_a), _shown(only_b)
    far_a = {t.value for t in only_a if not any(_near(t, o, a) for o in words_b)}
    far_b = {t.value for t in only_b if not any(_near(t, o, a) for o in words_a)}
    if far_a and far_b and _is_swap(a, b, far_a, far_b):
        return Verdict(guard, Outcome.MISMATCH, *texts, "swapped within the same text")
    return Verdict(guard, Outcome.UNSURE, *texts)


def _ways(reading: Reading) -> dict[str, dict[str, Token]]:
    """Content → the prepositions that govern it: those right before it, or one word earlier."""
    found: dict[str, dict[str, Token]] = {}
    governing: Token | None = None
    left = 0
    for token in reading.tokens:
        if token.kind == "prep":
            governing, left = token, _GOVERNED
        elif token.kind not in CONTENT:
            governing = None
        elif governing is not None and left and token.clause == governing.clause:
            found.setdefault(token.key, {}).setdefault(governing.value, governing)
            left -= 1
    return found


def _same_word(x: Token, y: Token, language: str | None) -> bool:
    """Equal, or the same word in singular and plural; a stem alone proves nothing.

    Stems are the same for ``tasso`` and ``tassa``, ``market`` and ``marketing``.
    """
    if x.value != y.value:
        return False
    p, q = sorted((fold_word(x.text), fold_word(y.text)), key=len)
    if p == q:
        return True
    same = len(_common(p, q))
    codes = (language,) if language else LANGUAGE_CODES
    ends = {(p[same:], q[same:]), (q[same:], p[same:])}
    return any(ends & lexicon(c).endings for c in codes)


def fold_word(text: str) -> str:
    """A word without case, accents, hyphens and possessive."""
    return plain(text).replace("-", "").strip("'").removesuffix("'s")


def _common(p: str, q: str) -> str:
    n = next((i for i, (c, d) in enumerate(zip(p, q, strict=False)) if c != d), len(p))
    return p[:n]


def _near(x: Token, y: Token, reading: Reading) -> bool:
    """Whether two words may be forms or synonyms of each other."""
    if x.value == y.value:
        return True
    codes = (reading.language,) if reading.language else LANGUAGE_CODES
    for code in codes:
        known = lexicon(code).synonyms
        if x.value in known and known[x.value] == known.get(y.value):
            return True
    short, long = sorted((x.value, y.value), key=len)
    return len(short) >= 5 and len(long) - len(short) <= 3 and long[:5] == short[:5]


@lru_cache(maxsize=4)
def _head_pattern(codes: tuple[str, ...]) -> re.Pattern[str]:
    """What is defined, up to ``=``, ``:``, an alias in brackets or a verb such as ``means``."""
    known = [lexicon(c) for c in codes]
    notes = "|".join(sorted(w for x in known for w in x.notes))
    verbs = "|".join(sorted(w for x in known for w in x.copulas))
    return re.compile(
        rf"^\s*(?:(?:{notes}):)?\s*(?P<head>[^=:.;]{{1,70}}?)\s*"
        rf"(?:=|:|\((?=[^)]*\)\s*(?:=|:|(?:{verbs})\b))|\b(?:{verbs})(?=\s))",
        re.IGNORECASE,
    )


def _head(reading: Reading) -> list[Token]:
    codes = (reading.language,) if reading.language else LANGUAGE_CODES
    found = _head_pattern(codes).match(reading.text)
    if not found:
        return []
    end = found.end("head")
    kinds = ("word", "name", "code", "id", "lit")
    return [t for t in reading.tokens if t.kind in kinds and t.end <= end][:_HEAD_TOKENS]


def _shown(tokens: list[Token]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(t.text for t in tokens))


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


@dataclass(frozen=True, slots=True)
class _Sides:
    """What stands on either side of a pivot; ``next_to`` holds the nearest token of each side."""

    left: frozenset[str]
    right: frozenset[str]
    next_to: tuple[str, str]


def _around(reading: Reading, pivot: str) -> _Sides | None:
    """Content around the only pivot of this kind, within its clause and the list after it."""
    found = [i for i, t in enumerate(reading.tokens) if t.key == pivot]
    if len(found) != 1:
        return None
    at = found[0]
    tokens, clause = reading.tokens, reading.tokens[at].clause
    near = (clause, clause + 1)
    left = [t for t in tokens[:at] if t.kind in CONTENT and t.clause == clause]
    right = [t for t in tokens[at + 1 :] if t.kind in CONTENT and t.clause in near]
    if not left or not right:
        return None
    if pivot.startswith("op:") and "num" in (left[-1].kind, right[0].kind):
        return None  # a limit may stand before or after what it limits
    return _Sides(
        frozenset(t.key for t in left),
        frozenset(t.key for t in right),
        (left[-1].key, right[0].key),
    )


def _swapped(a: _Sides | None, b: _Sides | None) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    if a is None or b is None:
        return None
    moved_right = (a.left - a.right) & (b.right - b.left)
    moved_left = (a.right - a.left) & (b.left - b.right)
    if a.next_to == b.next_to[::-1] and a.next_to[0] != a.next_to[1]:
        moved_right, moved_left = frozenset(a.next_to[:1]), frozenset(a.next_to[1:])
    if not moved_right or not moved_left:
        return None
    show = [tuple(sorted(k.partition(":")[2] for k in side)) for side in (moved_right, moved_left)]
    return show[0], show[1]


def _shared(a: Reading, b: Reading) -> list[Token]:
    """Tokens of ``a`` that mean something and that ``b`` has too, in order."""
    return [t for t in a.tokens if t.kind not in _UNORDERED and t.key in b.keys and t.key != "op:="]


def _orders(reading: Reading, tokens: list[Token]) -> tuple[list[str], list[str]]:
    """The order of first and of last mentions, lists apart: repeating a word changes neither."""
    first = {t.key: t for t in reversed(tokens)}
    last = {t.key: t for t in tokens}
    return (
        _list_sorted(reading, sorted(first.values(), key=lambda t: t.start)),
        _list_sorted(reading, sorted(last.values(), key=lambda t: t.start)),
    )


def _crossed(a: Reading, b: Reading) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """What changed places around a word or two: ``X owns Y`` against ``Y owns X``."""
    left, right = list(a.content), list(b.content)
    while left and right and left[0].key == right[0].key:
        left, right = left[1:], right[1:]
    while left and right and left[-1].key == right[-1].key:
        left, right = left[:-1], right[:-1]
    n = len(left)
    if n != len(right) or not 3 <= n <= 2 * _PLACE + _BETWEEN:
        return None
    if any(t.kind not in ("word", "name") for t in left):
        return None
    keys, others = [t.key for t in left], [t.key for t in right]
    for i in range(1, min(_PLACE, n - 2) + 1):
        for j in range(i + 1, min(i + _BETWEEN, n - 1) + 1):
            x, middle, y = keys[:i], keys[i:j], keys[j:]
            if len(y) <= _PLACE and others == y + middle + x:
                texts = [t.text for t in left]
                swapped = [" ".join(texts[:i]), " ".join(texts[j:])]
                return tuple(swapped), tuple(reversed(swapped))
    return None


def _list_sorted(reading: Reading, tokens: list[Token]) -> list[str]:
    """Keys with the members of each list (``A and B``, ``A or B``) in alphabetical order.

    A sum is a list only where nothing is multiplied, divided or subtracted.
    """
    joins = {t.start for t in reading.of("logic")}
    sums = [t for t in reading.of("rel") if t.value in ("plus", "minus", "times", "div")]
    if all(t.value == "plus" for t in sums):
        joins |= {t.start for t in sums}
    out: list[str] = []
    group: list[str] = []
    previous: Token | None = None
    for token in tokens:
        if token.start in joins:
            continue
        if previous is None or not _only_joins(reading, previous, token, joins):
            out += sorted(group)
            group = []
        group.append(token.key)
        previous = token
    return out + sorted(group)


def _only_joins(reading: Reading, x: Token, y: Token, joins: set[int]) -> bool:
    between = [t for t in reading.tokens if x.end <= t.start and t.end <= y.start]
    return bool(between) and all(t.start in joins for t in between)
