"""What every embedder must do, checked on every one that can run here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memory_assets.domain.ports import Embedder
from memory_assets.embedding.chain import GuardedEmbedder
from memory_assets.embedding.hashed import HashedEmbedder

TEXTS = [
    "ablazione transcatetere",
    "età ≥ 65",
    "",
    "churn",
    "ablazione transcatetere",
    "a b c " * 9,
]


@pytest.fixture(
    params=[
        pytest.param("e5", marks=pytest.mark.real_model),
        pytest.param("minilm", marks=pytest.mark.real_model),
        "hashed",
        "openai",
        "voyage",
        "guarded",
    ]
)
def embedder(request: pytest.FixtureRequest) -> Embedder:
    """One embedder of each sort."""
    name: str = request.param
    if name == "hashed":
        return HashedEmbedder(64)
    if name == "guarded":
        return GuardedEmbedder(HashedEmbedder(64))
    if name in ("openai", "voyage"):
        hosted: Callable[..., Any] = request.getfixturevalue("hosted")
        made: Embedder = hosted(name)
        return made
    real: Embedder = request.getfixturevalue(name)
    return real


def test_shape_type_and_length(embedder: Embedder) -> None:
    """Float32, one row per text, rows of length 1."""
    vectors = embedder.embed(TEXTS, kind="document")
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), embedder.dimension)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_rows_follow_the_input(embedder: Embedder) -> None:
    """Equal texts have equal rows, and the order of the rest does not matter."""
    vectors = embedder.embed(TEXTS, kind="document")
    assert np.allclose(vectors[0], vectors[4], atol=1e-5)
    turned = embedder.embed(TEXTS[::-1], kind="document")[::-1]
    assert np.allclose(vectors, turned, atol=1e-5)
    assert float(vectors[0] @ vectors[3]) < 0.95


def test_the_same_call_gives_the_same_bytes(embedder: Embedder) -> None:
    """Two nights agree."""
    first, second = (embedder.embed(TEXTS, kind="document") for _ in range(2))
    assert first.tobytes() == second.tobytes()


def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    """An empty array of the right width."""
    assert embedder.embed([], kind="query").shape == (0, embedder.dimension)
    assert list(embedder.embed_parts([], kind="query")) == []


def test_kind_matters_as_the_embedder_says(embedder: Embedder) -> None:
    """The cache relies on it."""
    query, document = (embedder.embed(["ablazione"], kind=k)[0] for k in ("query", "document"))
    assert embedder.kind_matters == (not np.allclose(query, document, atol=1e-5))


def test_parts_cover_every_position_once(embedder: Embedder) -> None:
    """In any order, with one row each."""
    seen: list[int] = []
    for positions, vectors in embedder.embed_parts(TEXTS, kind="document"):
        assert len(positions) == len(vectors)
        seen += positions
    assert sorted(seen) == list(range(len(TEXTS)))


def test_progress_ends_at_the_total(embedder: Embedder) -> None:
    """Counts rise to the number of texts."""
    seen: list[tuple[int, int]] = []
    embedder.embed(TEXTS, kind="document", progress=lambda *at: seen.append(at))
    assert seen == sorted(seen)
    assert seen[-1] == (len(TEXTS), len(TEXTS))


def test_the_space_names_the_model(embedder: Embedder, tmp_path: Path) -> None:
    """Provider, model, dimension and fingerprint; recipes share the model's key."""
    space, other = embedder.space("search-v1"), embedder.space("definition-v1")
    assert (space.provider, space.model) == (embedder.provider, embedder.model)
    assert (space.dimension, space.fingerprint) == (embedder.dimension, embedder.fingerprint)
    assert space.model_key == other.model_key
    assert space.space_id != other.space_id
