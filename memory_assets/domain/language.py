"""Which of the supported languages a text is written in, judged by its small words.

Small words (articles, prepositions, auxiliaries) are frequent in every sentence and nearly disjoint
between Italian and English, so a handful settles it without a model. Words that both languages have
(``a``, ``in``, ``per``, ``i``, ``no``, ``come``) are in neither list.
"""

from __future__ import annotations

import re
from typing import Final

from memory_assets.domain.text import LANGUAGES, Language, plain

DETECT_VERSION: Final = 1
"""Raised when detection changes, so that every index row is folded anew."""

_LOOKED_AT: Final = 1_000
_WORD: Final = re.compile(r"[a-z]+")
_ITALIAN_WORDS: Final = """
    ad agli ai al alla alle allo anche anno anni che chi coi col con cui da dagli dai dal dalla
    dalle dallo degli dei del della delle dello di dove ed entro essere esclusi esclusa escluse
    fra gli ha hanno il la le lo loro mese ma negli nei nel nella nelle nello non ogni oppure
    piu perche presso qual quale quali quando quanti quante quello questa questo quindi se
    secondo sempre senza si sia sono stata stato su sugli sui sul sulla sulle tra tutte tutti un
    una uno viene
"""
_ENGLISH_WORDS: Final = """
    all among an and any are as at be been being between by can does each every excluding for from
    had has have having how if into is it its least less many more most much must not of only or
    over refers should so such than that the their them then there these they this those to under
    was we were what when where whether which who whose why will with within without year years
"""
_ITALIAN: Final = frozenset(_ITALIAN_WORDS.split())
_ENGLISH: Final = frozenset(_ENGLISH_WORDS.split())


def row_language(text: str, tenant_language: str | None) -> Language | None:
    """The language whose stems a row is indexed with: its own, else its tenant's, else both."""
    found = detect(text)
    if found is not None:
        return found
    return next((known for known in LANGUAGES if known == tenant_language), None)


def detect(text: str) -> Language | None:
    """``it`` or ``en``; None when the text has too few telling words, or as many of either.

    Looks at the first 1,000 characters.
    """
    words = _WORD.findall(plain(text[:_LOOKED_AT]))
    italian = sum(word in _ITALIAN for word in words)
    english = sum(word in _ENGLISH for word in words)
    if italian >= 2 * english and italian:
        return "it"
    if english >= 2 * italian and english:
        return "en"
    return None
