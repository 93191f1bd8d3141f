"""Folded text: what the full-text index holds, and what a query becomes before it is asked.

The search engine stems before it folds accents, so ``qualità`` and ``qualita`` end as different
terms there. Here the order is the other way round, the engine only splits at white space, and rows
and queries go through the same function, so the two can never disagree.

A text becomes a line of terms:

* a word gives itself and its stems (``interventi`` -> ``interventi intervent``): the word itself
  ranks an exact match above an inflected one, and still matches when the language was guessed
  wrong;
* an identifier (digits, ``_ - . / : @ &``, inner capitals) stays whole and is never stemmed; its
  natural parts follow it (``cod_paz`` -> ``cod_paz cod paz``), a hyphenated one also in one word
  (``DRG-123`` -> ``drg-123 drg123 drg 123``);
* a number is never cut (``37.34`` gives ``37.34`` alone), and digits shorter than three are no
  part of anything: they would match everywhere;
* an elided article goes (``l'età`` -> ``eta``), like an English possessive.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Literal

FOLD_VERSION = 1
"""Raised when folding changes, so that every index row is folded anew."""

Language = Literal["it", "en"]
LANGUAGES: tuple[Language, ...] = ("it", "en")
MAX_TERM = 255
"""Longer terms are cut here, in rows and queries alike: a pasted blob must not swell the index."""

_STEMMED_FROM = 4
_PART_DIGITS_FROM = 3
_CACHED_CHUNK = 64

_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u201b\u02bc\u02b9\u2032\u00b4\uff07", "'"))
_ACCENTS = re.compile("[\u0300-\u036f]")
_WORD = re.compile(
    r"\w(?:\+\+|#)(?!\w)"
    r"|\d+(?:[.,]\d+)+(?!\w|[-./:@&']\w)"
    r"|\w+(?:[-./:@&']\w+)*"
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_DECIMAL = re.compile(r"\d+[.,]\d+")
_OTHER_MARK = str.maketrans(".,", ",.")
_NAME = re.compile(r"[a-z]{2,6}")
_CODE = re.compile(r"([a-z]{2,6})(\d{3,}|\d+(?:[.,]\d+)+)")
_HYPHENATED = re.compile(r"\w+(?:-\w+)+")
# The loosest joints come first, so that ``schema.cod_paz`` also gives ``cod_paz``.
_JOINTS = (
    re.compile(r"[/:@&]"),
    re.compile(r"(?<!\d)\.|\.(?!\d)"),
    re.compile(r"-"),
    re.compile(r"_+"),
    re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"),
)

_ELIDED_WORDS = """
    l d c s m t v n un gl all dall dell nell sull coll quell quest bell sant tutt senz anch dov com
    mezz
"""
_CLITIC_WORDS = "s re ve ll d m"
# Negations and "senza" or "without" are not among these: they carry meaning.
_FUNCTION_WORD_LIST = """
    a ad al allo alla ai agli alle che chi con cui da dal dallo dalla dai dagli dalle dei del dello
    della degli delle di e ed gli ha hanno i il in la le lo nei nel nello nella negli nelle o per
    qual quale quali quanti quante si sono su sui sul sullo sulla sugli sulle tra fra un uno una
    an and are as at by do does for from has have how is it its many much of on or that the their
    there these this those to was were what when where which who with
"""
_ELIDED = frozenset(_ELIDED_WORDS.split())
_CLITICS = frozenset(_CLITIC_WORDS.split())
_FUNCTION_WORDS = frozenset(_FUNCTION_WORD_LIST.split())


def fold(text: str, language: Language | None = None) -> str:
    """The terms of ``text``, in its order, parted by single blanks.

    Without ``language`` words carry their stems in every supported language, which is right for
    rows and queries whose language nobody knows. Equal for NFC and NFD; each white-space chunk
    gives the same terms alone as inside a text. Never raises: what cannot be a term is left out.
    """
    return " ".join(_terms(text, language))


def fold_query(text: str, language: Language | None = None) -> str:
    """The terms to search for: those of :func:`fold`, each once, without function words.

    A function word is common in its own language but rare, hence heavily weighted, in a store of
    the other one; it stays only where the query holds nothing else.
    """
    terms = list(dict.fromkeys(_terms(text, language)))
    telling = [term for term in terms if term not in _FUNCTION_WORDS]
    return " ".join(telling or terms)


def fold_question(text: str) -> str:
    """The terms of :func:`fold_query`, and other spellings of what people type by hand.

    A code is found with and without its blank (``ICD37.34``, ``DRG 123``), a number with the other
    decimal mark (``37,34``). Rows keep their own spelling, so a term more never hides another.
    """
    words = [_lower(match.group()) for match in _WORD.finditer(_flatten(text))]
    terms = [fold_query(text), *_other_spellings(words)]
    return " ".join(dict.fromkeys(" ".join(terms).split()))


def _other_spellings(words: list[str]) -> Iterator[str]:
    for word in words:
        if _DECIMAL.fullmatch(word):
            yield word.translate(_OTHER_MARK)
        code = _CODE.fullmatch(word)
        if code:
            yield from code.groups()
    for name, number in pairwise(words):
        if _NAME.fullmatch(name) and name not in _FUNCTION_WORDS and _NUMBER.fullmatch(number):
            yield name + number


def plain(text: str) -> str:
    """``text`` without case, accents, control marks and typographic variants. Idempotent."""
    return _lower(_flatten(text))


def _flatten(text: str) -> str:
    """Compatibility forms and accents removed, one kind of apostrophe; case is kept."""
    if text.isascii() and text.isprintable():
        return text
    decomposed = unicodedata.normalize("NFKD", text.translate(_APOSTROPHES))
    kept = "".join(_visible(c) for c in _ACCENTS.sub("", decomposed))
    return unicodedata.normalize("NFKC", kept)


def _visible(char: str) -> str:
    """The character; a blank for a control; nothing for format marks and lone surrogates."""
    category = unicodedata.category(char)
    if category == "Cc":
        return " "
    return "" if category in ("Cf", "Cs") else char


def _lower(flat: str) -> str:
    lowered = flat.casefold()
    return lowered if lowered.isascii() else _flatten(lowered)


def _terms(text: str, language: Language | None) -> Iterator[str]:
    for chunk in _flatten(text).split():
        if len(chunk) <= _CACHED_CHUNK:
            yield from _cached_chunk(chunk, language)
        else:
            yield from _chunk_terms(chunk, language)


@lru_cache(maxsize=1 << 16)
def _cached_chunk(chunk: str, language: Language | None) -> tuple[str, ...]:
    return tuple(_chunk_terms(chunk, language))


def _chunk_terms(chunk: str, language: Language | None) -> Iterator[str]:
    for match in _WORD.finditer(chunk):
        for word in _without_elisions(match.group()):
            yield from _word_terms(word, language)


def _without_elisions(word: str) -> list[str]:
    """The word cut at its apostrophes, elided articles and English clitics left out."""
    pieces = word.split("'")
    last = len(pieces) - 1
    if last and pieces[last].casefold() == "t":
        return ["".join(pieces)]
    kept = [
        piece
        for place, piece in enumerate(pieces)
        if not (place < last and piece.casefold() in _ELIDED)
        and not (place == last > 0 and piece.casefold() in _CLITICS)
    ]
    return kept or pieces


def _word_terms(word: str, language: Language | None) -> Iterator[str]:
    whole = _lower(word)[:MAX_TERM]
    if not any(c.isalnum() for c in whole):
        return
    yield whole
    parts = _parts(word)
    joined = [whole.replace("-", "")] if _HYPHENATED.fullmatch(whole) else []
    if not parts and not joined:
        yield from _stems(whole, language)
        return
    for part in dict.fromkeys(joined + parts):
        yield part
        yield from _stems(part, language)


def _parts(word: str) -> list[str]:
    """The natural parts of an identifier, lower case; empty for a word, a number or a blob."""
    if _NUMBER.fullmatch(word) or len(word) > MAX_TERM:
        return []
    pieces = [word]
    found: list[str] = []
    for joint in _JOINTS:
        pieces = [part for piece in pieces for part in joint.split(piece)]
        found.extend(_lower(piece) for piece in pieces)
    whole = _lower(word)
    return [part for part in dict.fromkeys(found) if part != whole and _is_natural(part)]


def _is_natural(part: str) -> bool:
    if part.isdigit():
        return len(part) >= _PART_DIGITS_FROM
    return len(part) > 1 and any(c.isalnum() for c in part)


def _stems(word: str, language: Language | None) -> Iterator[str]:
    """Stems of ``word`` that differ from it; none for short words and for anything with digits."""
    if len(word) < _STEMMED_FROM or not word.isalpha():
        return
    seen = {word}
    for one in (language,) if language else LANGUAGES:
        stem = _stem(word, one)
        if stem not in seen:
            seen.add(stem)
            yield stem


@lru_cache(maxsize=1 << 16)
def _stem(word: str, language: Language) -> str:
    # A stemmer keeps the word it works on in itself, so one shared by two threads would mix them.
    import snowballstemmer

    stemmer = snowballstemmer.stemmer({"it": "italian", "en": "english"}[language])
    return str(stemmer.stemWord(word))
