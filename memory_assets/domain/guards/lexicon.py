"""What a language brings to the guards: phrases with a meaning, synonyms, opposites, fillers.

A language is data: the tables of :mod:`english` and :mod:`italian` have one line per meaning. A
third language is a third file like them, listed in :mod:`memory_assets.domain.guards.languages`.

A *concept* is what a phrase means whatever the language: ``op:>=``, ``unit:day``, ``agg:sum``. A
phrase may end its words in ``*`` (any ending). A meaning written ``X ? Y`` holds as X when a number
follows and as Y otherwise; an empty Y leaves the words as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

_KEY = 3
"""Phrases are looked up by the first letters of their first word."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """One phrase: its words, and what they mean with and without a number after them."""

    words: tuple[str, ...]
    before_number: str
    otherwise: str

    def matches(self, words: Sequence[str]) -> bool:
        """Whether these words are the phrase."""
        return all(_same(p, w) for p, w in zip(self.words, words, strict=True))


def _same(pattern: str, word: str) -> bool:
    return word.startswith(pattern[:-1]) if pattern.endswith("*") else word == pattern


@dataclass(frozen=True, slots=True)
class Lexicon:
    """One language, compiled for look-up."""

    code: str
    fillers: frozenset[str]
    """Words without content: articles, copulas, and the scaffolding of a definition."""
    marks: frozenset[str]
    """Function words that tell the language."""
    numbers: Mapping[str, Decimal]
    compound: Callable[[str, Mapping[str, Decimal]], Decimal | None] | None
    """Value of a word that is put together of number words, where a language does that."""
    months: Mapping[str, int]
    articles: frozenset[str]
    """Words for one that are articles too: a number only after a comparison."""
    decimal_comma: bool
    copulas: frozenset[str]
    """Verbs between what is defined and its definition."""
    notes: frozenset[str]
    class_nouns: frozenset[str]
    endings: frozenset[tuple[str, str]]
    """Endings that a word may change without becoming another one."""
    opposites: Mapping[str, frozenset[tuple[str, int]]] = field(repr=False)
    """Stem → (axis, side) of the oppositions that it takes part in."""
    synonyms: Mapping[str, str] = field(repr=False)
    """Stem → the stem that stands for its group."""
    negative_prefixes: tuple[str, ...]
    phrases: Mapping[str, tuple[Phrase, ...]] = field(repr=False)
    longest: int

    def number(self, word: str) -> Decimal | None:
        """The value of a number word."""
        found = self.numbers.get(word)
        if found is None and self.compound is not None:
            return self.compound(word, self.numbers)
        return found

    def find(self, words: Sequence[str], at: int) -> Phrase | None:
        """The longest phrase that starts at this word."""
        for phrase in self.phrases.get(words[at][:_KEY], ()):
            n = len(phrase.words)
            if at + n <= len(words) and phrase.matches(words[at : at + n]):
                return phrase
        return None


def logical_lines(table: str) -> list[str]:
    """The lines of a table; an indented line goes on with the one before."""
    return table.strip().replace("\n    ", " ").splitlines()


def compile_phrases(table: str) -> dict[str, tuple[Phrase, ...]]:
    """Phrases by the first letters of their first word, the longest and most exact ones first."""
    found: dict[str, list[Phrase]] = {}
    for line in logical_lines(table):
        meaning, _, phrases = line.partition(" | ")
        before, _, otherwise = meaning.partition(" ? ")
        if " ? " not in meaning and not meaning.endswith(" ?"):
            otherwise = before
        before = before.removesuffix(" ?")
        for text in phrases.split(","):
            words = tuple(text.split())
            phrase = Phrase(words, before.strip(), otherwise.strip())
            first = words[0].removesuffix("*")
            if words[0].endswith("*") and len(first) < _KEY:
                raise ValueError(f"a stem of fewer than {_KEY} letters is too vague: {text!r}")
            found.setdefault(first[:_KEY], []).append(phrase)
    return {
        key: tuple(sorted(ps, key=lambda p: (-len(p.words), p.words[0].endswith("*"), p.words)))
        for key, ps in found.items()
    }


def groups(table: str, stem: Callable[[str], str]) -> list[tuple[str, ...]]:
    """One tuple of stems per line of a table of words."""
    return [
        tuple(dict.fromkeys(stem(w) for w in line.split())) for line in table.strip().splitlines()
    ]


def synonym_map(lines: Sequence[tuple[str, ...]]) -> dict[str, str]:
    """Stem → first stem of its line."""
    return {stem: line[0] for line in lines for stem in line}


def opposite_map(table: str, stem: Callable[[str], str]) -> dict[str, frozenset[tuple[str, int]]]:
    """Stem → (axis, side) for each axis that it lies on; lines are ``axis | words / words``.

    Axes have one name in all languages, so that opposites show across languages too.
    """
    found: dict[str, set[tuple[str, int]]] = {}
    for line in table.strip().splitlines():
        axis, _, sides = line.partition(" | ")
        for side, words in enumerate(sides.split(" / ")):
            for word in words.split():
                found.setdefault(stem(word), set()).add((axis.strip(), side))
    return {k: frozenset(v) for k, v in found.items()}
