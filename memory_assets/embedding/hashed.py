"""Vectors from hashed words and their parts: no model, no meaning, the same everywhere."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from memory_assets.domain.ports import TextKind, VectorPart, Vectors
from memory_assets.embedding.base import BaseEmbedder, encodable, unit_rows
from memory_assets.errors import SettingsError

_WORD = re.compile(r"\w+")
_PART = 4_096
_GRAM = 3
_GRAM_WEIGHT = 0.4
_SMALLEST, _LARGEST = 16, 4_096


class HashedEmbedder(BaseEmbedder):
    """Feature hashing: for tests, continuous integration and trials on machines without a model.

    A text becomes its folded words and their letter triples, each added to one of ``dimension``
    places with a sign, both taken from a hash. Texts that share words or inflected forms are
    near; synonyms and translations are not. It is no substitute for a model in production.
    """

    def __init__(self, dimension: int = 256) -> None:
        if not _SMALLEST <= dimension <= _LARGEST:
            raise SettingsError(
                f"A hashed embedding of {dimension} numbers is not offered.",
                remedy=f"Choose from {_SMALLEST} to {_LARGEST}, for instance hashed:256.",
            )
        super().__init__("hashed", str(dimension))
        self._dimension = dimension

    @classmethod
    def named(cls, model: str) -> HashedEmbedder:
        """The embedder for the part of a spec after the colon: the number of dimensions."""
        if not (model.isascii() and model.isdigit()):
            raise SettingsError(
                f"hashed:{model} is not a number of dimensions.", remedy="Write hashed:256."
            )
        return cls(int(model))

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._dimension

    @property
    def fingerprint(self) -> str:
        """The version of the rule."""
        return "hashed-words-v1"

    @property
    def kind_matters(self) -> bool:
        """No: words are words."""
        return False

    def embed_parts(self, texts: Sequence[str], *, kind: TextKind) -> Iterator[VectorPart]:
        """Parts in input order."""
        for start in range(0, len(texts), _PART):
            part = texts[start : start + _PART]
            rows: Vectors = np.zeros((len(part), self._dimension), np.float32)
            for row, text in zip(rows, part, strict=True):
                self._add(row, text)
            yield range(start, start + len(part)), unit_rows(rows, who=f"hashed:{self.model}")

    def _add(self, row: Vectors, text: str) -> None:
        folded = unicodedata.normalize("NFKD", encodable(text)).casefold()
        plain = "".join(c for c in folded if not unicodedata.combining(c))
        places: list[int] = []
        weights: list[float] = []
        for word in _WORD.findall(plain):
            some_places, some_weights = _features(word, self._dimension)
            places += some_places
            weights += some_weights
        row += np.bincount(np.array(places, np.intp), weights, self._dimension)
        if not row.any():
            row[0] = 1.0


@lru_cache(maxsize=65_536)
def _features(word: str, dimension: int) -> tuple[list[int], list[float]]:
    """Places and signed weights of a word and its letter triples."""
    padded = f"<{word}>"
    grams = {padded[i : i + _GRAM] for i in range(len(padded) - _GRAM + 1)} - {padded}
    features = [(padded, 1.0), *((gram, _GRAM_WEIGHT) for gram in sorted(grams))]
    places: list[int] = []
    weights: list[float] = []
    for text, weight in features:
        digest = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
        places.append((digest >> 1) % dimension)
        weights.append(weight if digest & 1 else -weight)
    return places, weights
