"""A definition as the guards read it: tokens with a meaning that does not depend on the language.

The text is cut into literals, identifiers, codes, numbers, dates, operators and words; phrases of
the language then give way to concepts (``non inferiore a`` and ``at least`` both become ``op >=``),
and what is left is content. Nothing here judges: the guards compare two readings.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

from memory_assets.domain.guards.figures import bound_ops, quantities_of
from memory_assets.domain.guards.reader import Reader
from memory_assets.domain.guards.tokens import CONTENT, Quantity, Token

_APOSTROPHES: Final = str.maketrans(dict.fromkeys("\u2018\u2019\u201b\u02bc\u2032\u00b4", "'"))
_WORD: Final = re.compile(r"\w+")
_SIGNED: Final = re.compile(
    r"(?<!\S)(?P<lead>\.)(?=[^\W\d])|(?P<word>\w+)(?P<tail>[-−+*]+)(?![\w+*−-])"
)
_SIGN: Final = re.compile(r"[^\w\s.,;:!?…()\[\]{}'\"“”«»‘’`/\\–—\-•·™®©]")


@dataclass(frozen=True)
class Reading:
    """One text, read. ``language`` is None when nothing tells it."""

    text: str
    language: str | None
    tokens: tuple[Token, ...]

    @cached_property
    def by_kind(self) -> dict[str, tuple[Token, ...]]:
        """Tokens of each kind, in order."""
        found: dict[str, list[Token]] = {}
        for token in self.tokens:
            found.setdefault(token.kind, []).append(token)
        return {kind: tuple(ts) for kind, ts in found.items()}

    def of(self, kind: str) -> tuple[Token, ...]:
        """Tokens of one kind, in order."""
        return self.by_kind.get(kind, ())

    @cached_property
    def keys(self) -> frozenset[str]:
        """The key of every token."""
        return frozenset(t.key for t in self.tokens)

    @cached_property
    def content(self) -> tuple[Token, ...]:
        """Tokens that say something by themselves, in order."""
        return tuple(t for t in self.tokens if t.kind in CONTENT)

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """Numbers with their units and comparisons."""
        return tuple(quantities_of(self.tokens))

    @cached_property
    def signs(self) -> tuple[dict[tuple[str, str], str], dict[str, str]]:
        """(word, sign) → as written, where no token holds the sign; and the words without one."""
        covered = bytearray(len(self.text))
        for token in self.tokens:
            covered[token.start : token.end] = b"\1" * (token.end - token.start)
        found: dict[tuple[str, str], str] = {}
        for match in _SIGNED.finditer(self.text):
            at = match.start("lead" if match["lead"] else "tail")
            if match["lead"]:
                word = _WORD.match(self.text, match.end())
                name = word.group() if word else ""
                found[name.casefold(), "."] = "." + name
            elif not covered[at]:
                found[match["word"].casefold(), match["tail"].replace("−", "-")] = match.group()
            covered[at : match.end()] = b"\1" * (match.end() - at)
        for match in _SIGN.finditer(self.text):
            if not covered[match.start()]:
                found["", match.group()] = match.group()
        signed = {word for word, _ in found}
        words = ((w.casefold(), w) for w in _WORD.findall(self.text))
        return found, {key: word for key, word in words if key not in signed}


@lru_cache(maxsize=1 << 14)
def read(text: str, language: str | None = None) -> Reading:
    """The text as the guards see it. Never raises; equal for NFC and NFD.

    ``language`` is taken where the text itself does not tell.
    """
    flat = unicodedata.normalize("NFC", text).translate(_APOSTROPHES)
    reader = Reader(flat, language)
    return Reading(flat, reader.language, reader.read())


def read_pair(a: str, b: str) -> tuple[Reading, Reading]:
    """Both readings; a text that does not tell its language is read in that of the other."""
    left, right = read(a), read(b)
    if left.language is None and right.language is not None:
        left = read(a, right.language)
    elif right.language is None and left.language is not None:
        right = read(b, left.language)
    return left, right


def bound_dates(reading: Reading) -> dict[str, str]:
    """Date value → the comparison that belongs to it."""
    ops = bound_ops(reading.tokens)
    return {t.value: ops.get(i, "") for i, t in enumerate(reading.tokens) if t.kind == "date"}
