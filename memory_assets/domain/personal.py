"""Personal data in a text: which kinds, where, and the text with them covered.

Numbers count only with their checksum (python-stdnum), so that identifiers and figures of a
definition are left alone. A hit is never quoted: its kind and place are all that is told.

One place to extend: a kind is one entry of :data:`KINDS`, a finder of spans in a flattened text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from stdnum import iban, luhn
from stdnum.it import codicefiscale

CHECKED_COLUMNS: Final = (
    "subject",
    "detail",
    "rationale",
    "question_context",
    "concepts",
    "metadata",
)
"""Columns of a candidate that would be published."""
CLIENT: Final = "client name"
Span = tuple[int, int]

_TAX_CODE: Final = re.compile(
    r"(?<![^\W_])[A-Z]{3} ?[A-Z]{3} ?[0-9LMNPQRSTUV]{2}[A-Z][0-9LMNPQRSTUV]{2} ?"
    r"[A-Z][0-9LMNPQRSTUV]{3}[A-Z](?![^\W_])",
    re.IGNORECASE,
)
_IBAN_START: Final = re.compile(
    r"(?<![A-Za-z0-9])[A-Z]{2}[0-9]{2}(?=[ \-]?[A-Z0-9])", re.IGNORECASE
)
_IBAN_LENGTHS: Final = range(15, 35)
_DIGITS: Final = re.compile(
    # No part of a word, of a signed number or of a decimal; a list of long numbers is none.
    r"(?<![^\W_])(?<!\+)(?<!(?<![A-Za-z])-)(?:(?<![0-9][.,])|(?<=[0-9]{12}[.,]))"
    r"[0-9](?:[ \-]?[0-9]){12,18}"
    r"(?![^\W_])(?![.,][0-9]{1,11}(?![0-9]))"
)
_FOURS: Final = re.compile(
    r"(?<![^\W_])(?<![.,+\-])[0-9]{4}(?:[ .\-/]{1,2}[0-9]{4}){3}(?![^\W_]|[.,][0-9])"
)
"""A card's number as it is embossed, whatever stands between the groups."""
_EMAIL: Final = re.compile(
    r"(?<![\w.+%\-])[\w.+%\-]{1,64}@[\w\-]{1,63}(?:\.[\w\-]{1,63}){0,4}\.[^\W\d_]{2,24}(?![\w\-])"
)
_ABROAD: Final = re.compile(r"(?<![\w+])(?:\+|00)[1-9](?:[ .\-/()]{0,2}[0-9]){6,14}(?!\w)")
_MOBILE: Final = re.compile(r"(?<![\w.,+\-])3[0-9]{2}[ .\-/][0-9]{3}(?:[ .\-]?[0-9]){3,4}(?!\w)")
_LANDLINE: Final = re.compile(r"(?<![\w.,+\-])0[0-9]{1,3}\)?[ /\-][0-9](?:[ \-]?[0-9]){4,8}(?!\w)")
_CUED: Final = re.compile(
    r"(?<!\w)(?:tel|telefono|telephone|phone|cell|cellulare|mobile|whatsapp|fax|numero)\b"
    r"[^0-9\n]{0,15}(?P<number>\+?[0-9](?:[ .\-/]?[0-9]){5,14})(?!\w)",
    re.IGNORECASE,
)
_SIX_DIGITS: Final = re.compile(r"[0-9](?:[ .\-/()]{0,2}[0-9]){5}")
_NO_DIGIT: Final = re.compile(r"[^0-9]")
_CARD_PREFIXES: Final = re.compile(r"4|5[0-9]|2[2-7]|3[0478-9]|35|6")


@dataclass(frozen=True, slots=True, order=True)
class Hit:
    """Personal data at ``text[start:end]``; what it is, never what it says."""

    start: int
    end: int
    kind: str


def find_personal(text: str, client_names: Sequence[str] = ()) -> tuple[Hit, ...]:
    """The personal data of a text, in its order, overlapping finds joined to the earlier one.

    ``client_names`` are found whatever their case, accents and spacing, the two words of a name in
    either order.
    """
    flat, places = _flattened(text)
    found = [
        Hit(places[start], places[end - 1] + 1, kind)
        for kind, finder in KINDS.items()
        for start, end in finder(flat)
    ]
    found += [
        Hit(places[start], places[end - 1] + 1, CLIENT) for start, end in _names(flat, client_names)
    ]
    kept: list[Hit] = []
    for hit in sorted(found, key=lambda h: (h.start, -h.end, h.kind)):
        if not kept or hit.start >= kept[-1].end:
            kept.append(hit)
        elif hit.end > kept[-1].end:
            kept[-1] = Hit(kept[-1].start, hit.end, kept[-1].kind)
    return tuple(kept)


def mask(text: str, client_names: Sequence[str] = ()) -> str:
    """The text with each find replaced by its kind in brackets; the rest as it is."""
    out = []
    at = 0
    for hit in find_personal(text, client_names):
        out += [text[at : hit.start], f"[{hit.kind}]"]
        at = hit.end
    return "".join([*out, text[at:]])


def personal_kinds(row: Mapping[str, Any], client_names: Sequence[str] = ()) -> tuple[str, ...]:
    """The kinds of personal data in the columns of a row that would be published, sorted."""
    names = tuple(client_names)
    return tuple(sorted(set().union(*(_kinds_in(text, names) for text in _texts(row)))))


def personal_text(row: Mapping[str, Any], client_names: Sequence[str] = ()) -> str | None:
    """The same kinds as one text, as tables keep them; None for a row without any."""
    return ", ".join(personal_kinds(row, client_names)) or None


@lru_cache(maxsize=20_000)
def _kinds_in(text: str, client_names: tuple[str, ...]) -> frozenset[str]:
    """The kinds in one text, remembered: sessions share texts."""
    return frozenset(h.kind for h in find_personal(text, client_names))


def masked(row: Mapping[str, Any], client_names: Sequence[str] = ()) -> dict[str, Any]:
    """The row with its texts covered where they hold personal data."""
    changed: dict[str, Any] = dict(row)
    for name in CHECKED_COLUMNS:
        value = row.get(name)
        if isinstance(value, str):
            changed[name] = mask(value, client_names)
        elif value is not None:
            changed[name] = [mask(v, client_names) for v in value]
    return changed


def _texts(row: Mapping[str, Any]) -> Iterator[str]:
    for name in CHECKED_COLUMNS:
        value = row.get(name)
        if isinstance(value, str):
            yield value
        elif value is not None:
            yield from value


def _flattened(text: str) -> tuple[str, list[int]]:
    """The text without marks that only hide things, and each character's place in the original.

    Compatibility forms become plain ones, accents and invisible characters go, white space and
    typographic dashes and apostrophes become a blank, a hyphen and an apostrophe.
    """
    if text.isascii() and text.isprintable():
        return text, list(range(len(text)))
    flat: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text):
        if " " <= char <= "~":
            flat.append(char)
            places.append(place)
            continue
        for piece in unicodedata.normalize("NFKD", char):
            category = unicodedata.category(piece)
            if category in ("Mn", "Cf", "Cs"):
                continue
            flat.append(_PLAIN.get(category) or _PLAIN.get(piece, piece))
            places.append(place)
    return "".join(flat), places


_PLAIN: Final = {"Pd": "-", "Zs": " ", "Cc": " ", "\u2018": "'", "\u2019": "'", "\u02bc": "'"}
"""Categories and characters that stand for a plain one."""


def _tax_codes(flat: str) -> Iterator[Span]:
    for found in _TAX_CODE.finditer(flat):
        if codicefiscale.is_valid(found.group()):
            yield found.span()


def _ibans(flat: str) -> Iterator[Span]:
    for found in _IBAN_START.finditer(flat):
        compact = ""
        for at in range(found.start(), min(len(flat), found.start() + 70)):
            char = flat[at]
            if char in " -":
                continue
            if not (char.isascii() and char.isalnum()):
                break
            compact += char
            after = flat[at + 1 : at + 2]
            ends = not (after.isascii() and after.isalnum())
            if ends and len(compact) in _IBAN_LENGTHS and iban.is_valid(compact):
                yield found.start(), at + 1
                break


def _cards(flat: str) -> Iterator[Span]:
    if _SIX_DIGITS.search(flat) is None:
        return
    for found in (*_DIGITS.finditer(flat), *_FOURS.finditer(flat)):
        digits = _NO_DIGIT.sub("", found.group())
        if _CARD_PREFIXES.match(digits) and len(set(digits)) > 1 and luhn.is_valid(digits):
            yield found.span()


def _emails(flat: str) -> Iterator[Span]:
    if "@" not in flat:
        return iter(())
    return (found.span() for found in _EMAIL.finditer(flat))


def _phones(flat: str) -> Iterator[Span]:
    if _SIX_DIGITS.search(flat) is None:
        return
    for pattern in (_ABROAD, _MOBILE, _LANDLINE):
        yield from (found.span() for found in pattern.finditer(flat))
    yield from (found.span("number") for found in _CUED.finditer(flat))


KINDS: Final[Mapping[str, Callable[[str], Iterable[Span]]]] = {
    "tax code": _tax_codes,
    "IBAN": _ibans,
    "card": _cards,
    "e-mail": _emails,
    "phone": _phones,
}


def _names(flat: str, client_names: Sequence[str]) -> Iterator[Span]:
    if not client_names:
        return
    lowered = "".join(c.lower() if len(c.lower()) == 1 else c for c in flat)
    for name in client_names:
        words = _words(name)
        # Looking for a word is a hundred times quicker than matching the whole name everywhere.
        if words and words[0] in lowered:
            for pattern in _name_patterns(words):
                yield from (m.span() for m in pattern.finditer(lowered))


@lru_cache(maxsize=1 << 14)
def _words(name: str) -> tuple[str, ...]:
    return tuple(_flattened(name)[0].lower().split())


@lru_cache(maxsize=1 << 14)
def _name_patterns(words: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    orders = [words, words[::-1]] if len(words) == 2 else [words]
    return tuple(
        re.compile(r"(?<![^\W_])" + r"[\s,._\-]+".join(map(re.escape, order)) + r"(?![^\W_])")
        for order in orders
    )
