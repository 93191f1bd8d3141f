"""Hashed vectors: the same everywhere, near for shared words, and nothing more."""

from __future__ import annotations

import numpy as np
import pytest

from memory_assets.embedding.hashed import HashedEmbedder
from memory_assets.errors import SettingsError

FIXED = [
    -0.167,
    -0.251,
    0.167,
    0.0,
    0.167,
    0.167,
    0.418,
    -0.334,
    0.167,
    0.502,
    0.167,
    0.0,
    0.334,
    -0.167,
    0.251,
    -0.167,
]


def cosine(one: str, two: str) -> float:
    """Cosine of two texts."""
    a, b = HashedEmbedder(256).embed([one, two], kind="document")
    return float(a @ b)


def test_the_rule_is_fixed() -> None:
    """Stored vectors must fit new ones: this value may change only with the fingerprint."""
    (vector,) = HashedEmbedder(16).embed(["Ablazione = COUNT(cod_paz)"], kind="document")
    assert HashedEmbedder(16).fingerprint == "hashed-words-v1"
    assert np.round(vector, 3).tolist() == pytest.approx(FIXED, abs=2e-3)


def test_shared_words_are_near_and_unlike_texts_are_not() -> None:
    """Inflections share letter triples; accents and case do not count."""
    assert cosine("intervento di ablazione", "interventi di ablazione") > 0.7
    assert cosine("PERCHÉ", "perche") == pytest.approx(1.0)
    assert abs(cosine("ablazione transcatetere", "customer churn rate")) < 0.3


@pytest.mark.parametrize("text", ["", "  ", "!?", "\ud800", "\x00"])
def test_texts_without_words_have_a_vector(text: str) -> None:
    """Any text has length 1."""
    (vector,) = HashedEmbedder(32).embed([text], kind="query")
    assert np.linalg.norm(vector) == pytest.approx(1.0)


@pytest.mark.parametrize("model", ["", "8", "100000", "abc", "-64", "٣٢"])
def test_only_sensible_sizes_are_offered(model: str) -> None:
    """The part after the colon is a number of dimensions."""
    with pytest.raises(SettingsError, match="hashed:256"):
        HashedEmbedder.named(model)
