"""Ranking by legs gives what ranking everything gives, and says when it might not."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.domain.ranking import Weights
from memory_assets.domain.visibility import Principal
from memory_assets.steps.search.legs import LegOptions
from memory_assets.steps.search.options import SearchOptions
from memory_assets.steps.search.searcher import Searcher
from memory_assets.steps.search.state import ServedGeneration
from memory_assets.steps.search.types import SearchRequest, SearchResult
from tests.searching import NOW, TENANT, Published, memory

WORDS = ["ablation", "ward", "visit", "patient", "age", "discharge", "dose", "year", "rate", "loan"]
queries = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)


@pytest.fixture(scope="module", name="home")
def _home(tmp_path_factory: pytest.TempPathFactory) -> Published:
    """300 memories of a dozen words, some used, of all ages; two of three belong to a client."""
    home = Published(tmp_path_factory.mktemp("legs"))
    dice = random.Random(7)
    rows = [
        memory(
            " ".join(dice.sample(WORDS, 3)),
            days_ago=dice.choice([0, 1, 5, 20, 200]),
            client_id=("anna", "berta", None)[number % 3],
        )
        for number in range(300)
    ]
    uses = [
        (TENANT, f"s{n}", 1, 0, f"mem-{dice.randint(1, 300):04d}", NOW, "a", 1) for n in range(60)
    ]
    home.publish(rows, uses=uses)
    return home


ADMIN = Principal.local(TENANT)
READERS = [ADMIN, *(Principal(TENANT, "ADVISOR", None, frozenset(c)) for c in ((), ("anna",)))]
"""Everything, a third of the index (narrowed by its filter) and two thirds (by the mask alone)."""


def _search(
    home: Published,
    query: str,
    legs: LegOptions,
    who: Principal = ADMIN,
    *,
    k: int = 10,
    weights: Weights | None = None,
) -> SearchResult:
    options = replace(SearchOptions(), legs=legs, weights=weights or Weights())
    searcher = Searcher(home.store, lambda: home.embedder, options)
    tag = home.store.current()[1]
    searcher._served = tag, _opened(home)
    return searcher.search(SearchRequest(query, who, NOW, k=k))


@cache
def _opened(home: Published) -> ServedGeneration:
    """Opened once: what is measured here is ranking."""
    return home.searcher.served()


@given(
    queries, st.sampled_from([1, 5, 40]), st.sampled_from([1, 10, 1000]), st.sampled_from(READERS)
)
def test_legs_with_a_bound_give_the_exact_ranking(
    home: Published, query: str, vector_depth: int, text_depth: int, who: Principal
) -> None:
    """However short the legs are: every memory that could still win is scored in full."""
    exact = _search(home, query, LegOptions(), who)
    legs = LegOptions(0, vector_depth=vector_depth, text_depth=text_depth)
    found = _search(home, query, legs, who)
    assert exact.exact
    assert found.exact
    assert [h.score for h in found.hits] == pytest.approx([h.score for h in exact.hits], abs=1e-5)
    for a, b in zip(found.hits, exact.hits, strict=True):
        if a.memory_id == b.memory_id:
            assert a.terms == pytest.approx(b.terms, abs=1e-5)


@pytest.mark.parametrize("who", READERS)
@pytest.mark.parametrize("exact_rows", [0, 50_000])
def test_only_what_may_be_seen_is_found(home: Published, who: Principal, exact_rows: int) -> None:
    """A filter that the index is spared is kept by the mask: all that is allowed, nothing else."""
    own = {None, *who.clients} if who.persona == "ADVISOR" else {None, "anna", "berta"}
    found = _search(home, "visit ward dose", LegOptions(exact_rows), who, k=300)
    assert {h.content["client_id"] for h in found.hits} == own
    assert len(found.hits) == 100 * len(own)


def test_a_cap_that_was_reached_is_reported(home: Published) -> None:
    """With too few memories filled in the answer is not called exact."""
    legs = LegOptions(0, vector_depth=1, text_depth=1, filled_at_most=3)
    assert not _search(home, "ablation ward", legs).exact


@pytest.mark.parametrize("term", ["recency", "access"])
def test_a_memory_that_neither_word_nor_vector_finds_can_still_win(
    home: Published, term: str
) -> None:
    """Recency and use are legs of their own: what leads them is never overlooked."""
    none = dict.fromkeys(("cosine", "text", "recency", "access"), 0.0)
    weights = Weights(**none | {term: 1.0})
    legs = LegOptions(0, vector_depth=1, text_depth=1)
    found = _search(home, "loan", legs, weights=weights)
    exact = _search(home, "loan", LegOptions(), weights=weights)
    assert [h.score for h in found.hits] == pytest.approx([h.score for h in exact.hits])
    assert found.hits[0].terms[term] == 1


def test_pending_vectors_are_known_to_be_missing(tmp_path: Path) -> None:
    """A memory without a vector is no unknown: it is ranked by its other terms, exactly."""
    from tests.steps.search.test_searcher import unplugged

    home = Published(tmp_path)
    home.publish([memory("ward"), memory("visit")], embedder=unplugged("document"))
    home.options = replace(home.options, legs=LegOptions(0, vector_depth=1))
    found = home.search("ward")
    assert found.exact
    assert found.hits[0].memory_id == "mem-0001"
