"""Several providers: one serves, breakers guard, and no space ever holds two models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memory_assets.domain.spaces import SEARCH_RECIPE, EmbeddingSpace
from memory_assets.embedding.breaker import Breaker
from memory_assets.embedding.cache import SqliteVectorCache
from memory_assets.embedding.chain import GuardedEmbedder, ProviderChain
from memory_assets.embedding.hashed import HashedEmbedder
from memory_assets.embedding.http import Retries, RetryPolicy
from memory_assets.embedding.through_cache import embed_through_cache
from memory_assets.errors import (
    BudgetExhausted,
    ProviderRejected,
    ProviderUnavailable,
    SettingsError,
    SpaceMismatch,
)

from .conftest import EmbeddingServer, Reply

Make = Callable[..., Any]


class Clock:
    """A time that tests move."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    """A clock that stands still."""
    return Clock()


@pytest.fixture
def once(hosted: Make) -> Make:
    """Makes an embedder that does not try again, so that tests count calls."""

    def make(provider: str = "voyage", **options: Any) -> Any:
        embedder = hosted(provider, retries=Retries(RetryPolicy(attempts=1)), **options)
        embedder.verify()
        return embedder

    return make


def down(number: int, body: dict[str, Any]) -> Reply:
    """The provider fails on its side."""
    return Reply(503, {})


def test_three_failures_open_the_breaker_and_spare_the_provider(
    server: EmbeddingServer, once: Make, clock: Clock
) -> None:
    """While open no request is sent; after 30 s one is, and its success closes the breaker."""
    chain = ProviderChain([once()], clock=clock)
    server.script = down
    for _ in range(3):
        with pytest.raises(ProviderUnavailable, match="503"):
            chain.first.embed(["one"], kind="document")
    asked = len(server.bodies)
    with pytest.raises(ProviderUnavailable, match="left alone for 30 s") as caught:
        chain.first.embed(["one"], kind="document")
    assert len(server.bodies) == asked
    assert caught.value.retry_after == pytest.approx(30)
    assert chain.states()[0].breaker == "open"
    clock.now += 30
    assert chain.states()[0].breaker == "half-open"
    server.script = lambda number, body: None
    chain.first.embed(["one"], kind="document")
    assert chain.first.last_problem is None
    assert chain.states()[0].breaker == "closed"
    assert chain.states()[0].last_problem == "provider-unavailable", "the run has met it"


def test_a_failed_try_keeps_it_open(server: EmbeddingServer, once: Make, clock: Clock) -> None:
    """Half open, down still: one request, then silence for another 30 s."""
    chain = ProviderChain([once()], new_breaker=lambda: Breaker(threshold=1), clock=clock)
    server.script = down
    for _ in range(3):
        with pytest.raises(ProviderUnavailable):
            chain.first.embed(["one"], kind="document")
    asked = len(server.bodies)
    clock.now += 31
    for _ in range(3):
        with pytest.raises(ProviderUnavailable):
            chain.first.embed(["one"], kind="document")
    assert len(server.bodies) == asked + 1


def test_what_waiting_does_not_mend_opens_no_breaker(
    server: EmbeddingServer, once: Make, clock: Clock
) -> None:
    """A rejected request says nothing against the provider's health."""
    chain = ProviderChain([once()], clock=clock)
    server.script = lambda number, body: Reply(400, {})
    for _ in range(5):
        with pytest.raises(ProviderRejected):
            chain.first.embed(["one"], kind="document")
    assert chain.states()[0].breaker == "closed"
    assert chain.states()[0].last_problem == "provider-rejected"


def test_a_batch_that_loses_its_provider_leaves_the_rest_pending(
    server: EmbeddingServer, once: Make, clock: Clock, tmp_path: Path
) -> None:
    """Dead midway through 1,000: the next run embeds what is missing, with the same model.

    A fallback of equal dimension stands by all the time and contributes nothing.
    """
    primary = once()
    chain = ProviderChain([primary, HashedEmbedder(server.dimension)], clock=clock)
    cache = SqliteVectorCache(tmp_path / "vectors.sqlite")
    texts = [f"text {number}" for number in range(1_000)]
    server.script = lambda number, body: down(number, body) if "text 512" in body["input"] else None
    vectors, stats = embed_through_cache(
        chain.first, cache, texts, kind="document", allow_missing=True
    )
    assert (stats.computed, stats.missing) == (512, 488)
    assert isinstance(stats.problem, ProviderUnavailable)
    assert np.isnan(vectors[512:]).all()
    server.script = lambda number, body: None
    server.bodies.clear()
    whole, stats = embed_through_cache(chain.first, cache, texts, kind="document")
    assert (stats.hits, stats.computed, stats.missing) == (512, 488, 0)
    assert len(server.texts) == 488
    assert np.array_equal(whole[:512], vectors[:512])
    assert np.allclose(whole, primary.embed(texts, kind="document"), atol=1e-6)
    cache.close()


def test_a_warm_fallback_answers_queries_in_its_own_space(
    server: EmbeddingServer, once: Make, clock: Clock
) -> None:
    """While the first is down the vector comes with the fallback's space and a note."""
    warm = HashedEmbedder(64)
    chain = ProviderChain([once(), warm], warm=["hashed:64"], clock=clock)
    assert [member.provider for member in chain.with_space] == ["voyage", "hashed"]
    normal = chain.embed_query("ablazione", recipe=SEARCH_RECIPE)
    assert normal.embedder is chain.first
    assert not normal.degraded
    server.script = down
    answer = chain.embed_query("ablazione", recipe=SEARCH_RECIPE)
    assert answer.embedder is not None
    assert answer.embedder.space(SEARCH_RECIPE) == warm.space(SEARCH_RECIPE)
    assert answer.degraded
    said = "voyage:some-model: provider-unavailable: voyage:some-model answered 503"
    assert answer.notes[0].startswith(said)


def test_a_fallback_that_is_not_warm_answers_nothing(
    server: EmbeddingServer, once: Make, clock: Clock
) -> None:
    """It has no space: the query has no vector, and the notes say why."""
    chain = ProviderChain([once(), HashedEmbedder(64)], clock=clock)
    server.script = down
    answer = chain.embed_query("ablazione", recipe=SEARCH_RECIPE)
    assert answer.vector is None
    assert answer.embedder is None
    assert len(answer.notes) == 1
    assert [state.role for state in chain.states()] == ["first", "standby"]


def test_only_spaces_of_the_index_are_asked(once: Make, clock: Clock) -> None:
    """A provider whose space is not in this generation would compare unlike vectors."""
    warm = HashedEmbedder(64)
    chain = ProviderChain([once(), warm], warm=["hashed:64"], clock=clock)
    own = warm.space(SEARCH_RECIPE).space_id
    answer = chain.embed_query("ablazione", recipe=SEARCH_RECIPE, spaces=[own])
    assert answer.embedder is chain.members[1]
    assert "no space of it is in the index" in answer.notes[0]


def test_vectors_enter_the_space_of_their_own_model_only(once: Make) -> None:
    """Equal dimension is not enough, nor are equal names with other weights."""
    chain = ProviderChain([once(), HashedEmbedder(64)])
    own = chain.members[1].space(SEARCH_RECIPE)
    assert chain.for_space(own) is chain.members[1]
    other = EmbeddingSpace("hashed", "64", 64, "other weights", SEARCH_RECIPE)
    with pytest.raises(SpaceMismatch, match="no longer embeds into the stored space"):
        chain.for_space(other)
    unknown = EmbeddingSpace("openai", "some-model", 64, own.fingerprint, SEARCH_RECIPE)
    with pytest.raises(SpaceMismatch, match="not among the configured providers"):
        chain.for_space(unknown)


@pytest.mark.parametrize("warm", [["hashed:32"], ["hashed:64"]])
def test_warm_names_a_fallback(warm: list[str]) -> None:
    """The first provider is not its own fallback, and neither is a stranger."""
    with pytest.raises(SettingsError, match="warm ones are among its fallbacks"):
        ProviderChain([HashedEmbedder(64), HashedEmbedder(128)], warm=warm)


def test_a_chain_needs_one_provider_and_none_twice() -> None:
    """Empty and repeated chains are mistakes in the settings."""
    with pytest.raises(SettingsError):
        ProviderChain([])
    with pytest.raises(SettingsError):
        ProviderChain([HashedEmbedder(64), HashedEmbedder(64)])


def test_states_show_costs_and_no_content(server: EmbeddingServer, once: Make) -> None:
    """What doctor and run metadata show."""
    chain = ProviderChain([once("openai")])
    chain.first.embed(["secret text"], kind="document")
    shown = chain.states()[0].to_dict()
    assert shown["tokens"] > 0
    assert shown["dollars"] > 0
    assert shown["requests"] == 2
    assert "secret" not in str(shown)


def test_an_abandoned_try_does_not_block_the_next(once: Make, clock: Clock) -> None:
    """A caller that takes one part and leaves has shown that the provider works."""
    guarded = GuardedEmbedder(once(), Breaker(threshold=1), clock=clock)
    parts = guarded.embed_parts([f"text {n}" for n in range(600)], kind="document")
    next(parts)
    parts.close()  # type: ignore[attr-defined]
    assert guarded.embed(["one"], kind="document").shape[0] == 1


def test_a_used_up_budget_opens_no_breaker(once: Make, clock: Clock) -> None:
    """Our own limit is not the provider's failure."""
    from memory_assets.embedding.budget import Budget

    budget = Budget(0.00012)
    guarded = GuardedEmbedder(once(budget=budget), Breaker(threshold=1), clock=clock)
    for _ in range(2):
        with pytest.raises(BudgetExhausted):
            guarded.embed(["x" * 5_000], kind="document")
    assert guarded.state == "closed"
