"""The languages that the guards know, compiled from their tables."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import Any, Final

from memory_assets.domain.guards import english, italian
from memory_assets.domain.guards.lexicon import (
    Lexicon,
    compile_phrases,
    groups,
    logical_lines,
    opposite_map,
    synonym_map,
)
from memory_assets.domain.text import Language, fold

_LANGUAGE_FILES: Final[dict[str, ModuleType]] = {"en": english, "it": italian}
"""The one place where languages are listed."""

LANGUAGE_CODES: Final = tuple(_LANGUAGE_FILES)

_WORD_SPLIT: Final = re.compile(
    r"\w[\w-]*(?:'(?:t|s|re|ve|ll|d|m)\b)?(?:'(?=\w)|'(?=\s|$))?|[%€$£¥°]\w?"
)


def _stemmer(code: Language) -> Callable[[str], str]:
    def stem(word: str) -> str:
        terms = fold(word, code).split()
        return terms[-1] if terms else word

    return stem


@lru_cache(maxsize=8)
def lexicon(code: str) -> Lexicon:
    """The compiled lexicon of a language."""
    data: Any = _LANGUAGE_FILES[code]
    stem = _stemmer(code)  # type: ignore[arg-type]
    phrases = compile_phrases(_split_phrases(data.PHRASES))
    months = {name: n for n, line in enumerate(data.MONTHS, 1) for name in line.split()}
    return Lexicon(
        code=code,
        fillers=frozenset(data.FILLERS.split()),
        marks=frozenset(data.MARKS.split()),
        numbers=data.numbers(),
        compound=getattr(data, "compound", None),
        months=months,
        articles=frozenset(data.ARTICLES.split()),
        decimal_comma=data.DECIMAL_COMMA,
        copulas=frozenset(data.COPULAS.split()),
        notes=frozenset(data.NOTES.split()),
        class_nouns=frozenset(data.CLASS_NOUNS.split()),
        endings=frozenset(tuple(pair.split("/")) for pair in data.ENDINGS.split()),
        opposites=opposite_map(data.OPPOSITES, stem),
        synonyms=synonym_map(groups(data.SYNONYMS, stem)),
        negative_prefixes=data.NEGATIVE_PREFIXES,
        phrases=phrases,
        longest=max(len(p.words) for ps in phrases.values() for p in ps),
    )


@lru_cache(maxsize=8)
def own_words(code: str) -> frozenset[str]:
    """Words that this language's tables hold and no other's do."""
    others = (_all_words(c) for c in LANGUAGE_CODES if c != code)
    return _all_words(code).difference(*others)


@lru_cache(maxsize=8)
def _all_words(code: str) -> frozenset[str]:
    known = lexicon(code)
    phrases = (w for ps in known.phrases.values() for p in ps for w in p.words)
    words = {w.rstrip("'") for w in phrases if not w.endswith("*")}
    data: Any = _LANGUAGE_FILES[code]
    words |= set(data.SYNONYMS.split()) | set(data.OPPOSITES.split())
    return frozenset(words | known.fillers | known.months.keys() | known.numbers.keys())


def _split_phrases(table: str) -> str:
    """The table with every phrase cut into words as texts are (``all'anno``: ``all' anno``)."""
    lines = []
    for line in logical_lines(table):
        meaning, _, phrases = line.partition(" | ")
        cut = (" ".join(_cut(w)) for p in phrases.split(",") for w in [p.strip()] if w)
        lines.append(f"{meaning} | {','.join(cut)}")
    return "\n".join(lines)


def _cut(phrase: str) -> list[str]:
    found = []
    for word in phrase.split():
        if word.endswith("*") or not word[0].isalnum():
            found.append(word)
        else:
            found += _WORD_SPLIT.findall(word)
    return found
