"""Embedding through the cache: each text once, whatever happens in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_assets.embedding.cache import SqliteVectorCache
from memory_assets.embedding.hashed import HashedEmbedder
from memory_assets.embedding.through_cache import embed_through_cache
from memory_assets.errors import ProviderRejected, ProviderUnavailable

from .conftest import EmbeddingServer, Reply


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[SqliteVectorCache]:
    """An empty cache."""
    opened = SqliteVectorCache(tmp_path / "vectors.sqlite")
    yield opened
    opened.close()


@pytest.fixture
def embedder(hosted: Callable[..., Any]) -> Any:
    """A hosted embedder, whose server counts what it was asked."""
    made = hosted("voyage")
    made.verify()
    return made


def test_equal_texts_are_embedded_once(
    server: EmbeddingServer, embedder: Any, cache: SqliteVectorCache
) -> None:
    """Rows follow the input, repeated texts included."""
    server.bodies.clear()
    texts = ["a", "b", "a", "c", "b"]
    vectors, stats = embed_through_cache(embedder, cache, texts, kind="document")
    assert server.texts == ["a", "b", "c"]
    assert (stats.requested, stats.unique, stats.hits, stats.computed) == (5, 3, 0, 3)
    assert np.array_equal(vectors[0], vectors[2])
    assert np.allclose(vectors, embedder.embed(texts, kind="document"), atol=1e-6)
    assert stats.tokens == 3
    assert stats.dollars > 0


def test_known_texts_ask_nobody(
    server: EmbeddingServer, embedder: Any, cache: SqliteVectorCache
) -> None:
    """The second night embeds what is new, nothing else, and costs only that."""
    first, _ = embed_through_cache(embedder, cache, ["a", "b"], kind="document")
    server.bodies.clear()
    again, stats = embed_through_cache(embedder, cache, ["b", "new", "a"], kind="document")
    assert server.texts == ["new"]
    assert (stats.hits, stats.computed, stats.tokens) == (2, 1, 1)
    assert np.array_equal(again[[2, 0]], first)
    server.bodies.clear()
    _, stats = embed_through_cache(embedder, cache, ["b", "new", "a"], kind="document")
    assert server.bodies == []
    assert (stats.hits, stats.computed, stats.dollars) == (3, 0, 0)


def test_kinds_are_kept_apart_where_they_differ(
    server: EmbeddingServer, embedder: Any, cache: SqliteVectorCache
) -> None:
    """A query never gets a document's vector from a model that tells them apart."""
    document, _ = embed_through_cache(embedder, cache, ["a"], kind="document")
    query, stats = embed_through_cache(embedder, cache, ["a"], kind="query")
    assert stats.computed == 1
    assert not np.allclose(document, query)
    plain = HashedEmbedder(32)
    embed_through_cache(plain, cache, ["a"], kind="document")
    _, stats = embed_through_cache(plain, cache, ["a"], kind="query")
    assert stats.hits == 1


def test_models_are_kept_apart(cache: SqliteVectorCache) -> None:
    """Another model never finds these vectors."""
    embed_through_cache(HashedEmbedder(32), cache, ["a"], kind="document")
    vectors, stats = embed_through_cache(HashedEmbedder(64), cache, ["a"], kind="document")
    assert stats.hits == 0
    assert vectors.shape == (1, 64)


def test_no_texts_are_no_work(cache: SqliteVectorCache) -> None:
    """An empty night has an empty array of the right width."""
    vectors, stats = embed_through_cache(HashedEmbedder(32), cache, [], kind="document")
    assert vectors.shape == (0, 32)
    assert stats.to_metadata() == {
        "requested": 0,
        "unique": 0,
        "cache_hits": 0,
        "computed": 0,
        "missing": 0,
        "tokens": 0,
        "dollars": 0.0,
        "seconds": stats.to_metadata()["seconds"],
        "problem": "",
    }


def test_progress_counts_to_the_end(embedder: Any, cache: SqliteVectorCache) -> None:
    """From what was known to all of it."""
    embed_through_cache(embedder, cache, ["0", "1"], kind="document")
    seen: list[tuple[int, int]] = []
    texts = [str(n) for n in range(600)]
    embed_through_cache(
        embedder, cache, texts, kind="document", progress=lambda *at: seen.append(at)
    )
    assert seen == [(2, 600), (258, 600), (514, 600), (600, 600)]


def test_a_failure_midway_keeps_what_was_done(
    server: EmbeddingServer, embedder: Any, cache: SqliteVectorCache
) -> None:
    """Without allow_missing the error comes through, and the parts before it are cached."""
    texts = [f"text {n}" for n in range(600)]
    server.script = lambda number, body: Reply(500, {}) if "text 300" in body["input"] else None
    with pytest.raises(ProviderUnavailable):
        embed_through_cache(embedder, cache, texts, kind="document")
    server.script = lambda number, body: None
    _, stats = embed_through_cache(embedder, cache, texts, kind="document")
    assert (stats.hits, stats.computed) == (256, 344)


def test_what_is_final_is_an_error_in_any_case(
    server: EmbeddingServer, embedder: Any, cache: SqliteVectorCache
) -> None:
    """allow_missing is for what may pass: a refused key must be seen."""
    server.script = lambda number, body: Reply(401, {})
    with pytest.raises(ProviderRejected):
        embed_through_cache(embedder, cache, ["a"], kind="document", allow_missing=True)


def test_a_provider_that_was_never_reached_leaves_all_missing(
    server: EmbeddingServer, hosted: Callable[..., Any], cache: SqliteVectorCache
) -> None:
    """Even its fingerprint is unknown: nothing can be looked up, everything stays pending."""
    server.script = lambda number, body: Reply(503, {})
    vectors, stats = embed_through_cache(
        hosted("openai"), cache, ["a", "a"], kind="document", allow_missing=True
    )
    assert (stats.unique, stats.missing) == (1, 1)
    assert np.isnan(vectors).all()
    assert stats.to_metadata()["problem"] == "provider-unavailable"


@settings(max_examples=20)
@given(st.lists(st.lists(st.text(alphabet="ab\ud800é ", max_size=3), max_size=8), max_size=4))
def test_the_cache_changes_no_vector(
    tmp_path_factory: pytest.TempPathFactory, nights: list[list[str]]
) -> None:
    """Any texts over any nights give what the model alone gives; none is embedded twice."""
    cache = SqliteVectorCache(tmp_path_factory.mktemp("nights") / "vectors.sqlite")
    embedder, known = HashedEmbedder(32), set[str]()
    for texts in nights:
        vectors, stats = embed_through_cache(embedder, cache, texts, kind="document")
        assert np.array_equal(vectors, embedder.embed(texts, kind="document"))
        assert stats.computed == len(set(texts) - known)
        known |= set(texts)
    cache.close()
