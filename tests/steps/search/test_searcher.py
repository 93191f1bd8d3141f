"""Searching a published registry: one generation, one principal, every term reported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memory_assets.domain.ports import TextKind, VectorPart
from memory_assets.domain.visibility import Principal
from memory_assets.embedding.hashed import HashedEmbedder
from memory_assets.errors import (
    AccessDenied,
    ProviderUnavailable,
    SpaceMismatch,
    UnknownTenantError,
    UsageError,
)
from memory_assets.steps.search.searcher import Searcher
from memory_assets.steps.search.state import ServedGeneration
from memory_assets.steps.search.types import SearchRequest
from tests.searching import NOW, TENANT, Published, memory

SHARED = memory("Ablation", "procedure with ablazione_transcatetere = TRUE, by year", days_ago=2)
OLDER = memory("Cardioversion", "procedure with cardioversione = TRUE, by year", days_ago=90)
OTHER = memory("Default rate", "loans overdue for more than 90 days", days_ago=30)


class Unplugged(HashedEmbedder):
    """A model that cannot be reached: for queries only, or for everything."""

    down: tuple[str, ...] = ("query", "document")

    def embed_parts(self, texts: Sequence[str], *, kind: TextKind) -> Iterator[VectorPart]:
        if kind in self.down:
            raise ProviderUnavailable("the provider does not answer")
        return super().embed_parts(texts, kind=kind)


def unplugged(*kinds: str) -> HashedEmbedder:
    model = Unplugged.named("64")
    model.down = kinds  # type: ignore[attr-defined]
    return model


@pytest.fixture(scope="module", name="home")
def _home(tmp_path_factory: pytest.TempPathFactory) -> Published:
    published = Published(tmp_path_factory.mktemp("search"))
    published.publish([SHARED, OLDER, OTHER])
    return published


def test_the_best_hit_comes_first_with_its_score_explained(home: Published) -> None:
    """Each hit has four terms in [0, 1], and the score is their weighted sum."""
    found = home.search("ablation procedure", explain=True)
    assert found.hits[0].memory_id == "mem-0001"
    assert found.exact
    assert found.degraded is None
    for hit in found.hits:
        assert all(0 <= term <= 1 for term in hit.terms.values())
        total = sum(found.weights.of(name) * term for name, term in hit.terms.items())
        assert hit.score == pytest.approx(total)
    assert [h.score for h in found.hits] == sorted((h.score for h in found.hits), reverse=True)
    assert found.hits[0].ranks == {"vector": 1, "text": 1, "recency": 1, "access": None}


def test_a_hit_is_whole_in_json(home: Published) -> None:
    """``--json`` carries id, subject, detail, score and the four scores of every hit."""
    first = home.search("ablation").to_list()[0]
    assert first["memory_id"] == "mem-0001"
    assert first["subject"] == "Ablation"
    assert first["detail"] == SHARED["detail"]
    assert set(first["scores"]) == {"cosine", "text", "recency", "access"}
    assert isinstance(first["score"], float)


def test_k_limits_the_hits(home: Published) -> None:
    """At most k hits come back; the default is ten."""
    assert len(home.ids("procedure", k=1)) == 1
    assert len(home.ids("procedure")) == 3


@pytest.mark.parametrize(
    ("query", "k"),
    [("", 10), (" \n", 10), ("\u200b", 10), ("x y " * 5_001, 10), ("x", 0), ("x", 1001)],
)
def test_a_blank_or_endless_query_or_an_absurd_k_is_refused(
    home: Published, query: str, k: int
) -> None:
    """Nothing is guessed: the message says what to give."""
    with pytest.raises(UsageError):
        home.search(query, k=k)


def test_no_tenant_an_unknown_one_and_another_ones_are_denied_by_name(home: Published) -> None:
    """No tenant, an unknown tenant, and one that was not given are each refused."""
    with pytest.raises(UnknownTenantError):
        home.search("ablation", Principal.local(""))
    with pytest.raises(UnknownTenantError):
        home.search("ablation", Principal.local("nowhere"))
    with pytest.raises(AccessDenied):
        home.search("ablation", Principal.local("nowhere"), tenants=(TENANT,))


def test_a_tenant_that_the_settings_do_not_know_is_unknown(home: Published) -> None:
    """A tenant taken out of tenants.toml is denied even while its memories are still there."""
    options = replace(home.options, is_known_tenant=lambda t: t != TENANT)
    searcher = Searcher(home.store, lambda: home.embedder, options)
    with pytest.raises(UnknownTenantError):
        searcher.search(SearchRequest("ablation", Principal.local(TENANT), NOW))


def test_a_client_may_not_search(home: Published) -> None:
    """Clients, prospects and heirs have no search at all."""
    with pytest.raises(AccessDenied):
        home.search("ablation", Principal(TENANT, "CLIENT", "c1", frozenset({"c1"})))


def test_a_home_without_anything_published_says_so(tmp_path: Path) -> None:
    """The first search of a new home finds nothing and names the command that changes it."""
    home = Published(tmp_path)
    home.options = type(home.options)(has_sessions=lambda _: True)
    found = home.search("ablation")
    assert found.hits == ()
    assert "nightly" in found.notices[0]


def test_filters_narrow_by_tier_user_and_client(tmp_path: Path) -> None:
    """Each filter keeps exactly the rows that hold the value."""
    home = Published(tmp_path)
    home.publish(
        [
            memory("Visit of a client", client_id="c1", user_id="anna"),
            memory("Visit of a ward", user_id="berta", audience="tenant"),
            memory("Visit at home"),
        ],
        tier_assignments=[(TENANT, "mem-0003", "core", 1, "pinned", "{}")],
    )
    assert home.ids("visit", client="c1") == ["mem-0001"]
    assert home.ids("visit", user="berta") == ["mem-0002"]
    assert home.ids("visit", tier="core") == ["mem-0003"]
    assert set(home.ids("visit", tier="recall")) == {"mem-0001", "mem-0002"}
    assert home.ids("visit", client="nobody") == []


def test_a_hit_by_words_only_and_one_by_vector_only_report_both_terms(tmp_path: Path) -> None:
    """A memory without a vector is found by its words; one that shares no word by its vector."""
    home = Published(tmp_path)
    home.publish([memory("Ablation"), memory("Discharge")], embedder=unplugged("document"))
    found = home.search("ablation")
    assert found.hits[0].memory_id == "mem-0001"
    assert found.hits[0].cosine is None
    assert found.hits[0].terms["cosine"] == 0
    assert found.hits[0].terms["text"] > 0
    assert "2 memories are not searchable by vector" in found.notices[0]

    home.publish([memory("Ablation"), memory("Discharge")])
    by_vector = home.search("ablations")
    assert by_vector.hits[0].cosine is not None
    assert home.search("zzz").hits[0].terms["text"] == 0


def test_words_answer_when_the_model_cannot_be_had(home: Published) -> None:
    """The search is marked degraded with its reason, and hits by words stay."""
    home_searcher = Searcher(home.store, lambda: unplugged("query"), home.options)
    found = home_searcher.search(SearchRequest("ablation", Principal.local(TENANT), NOW))
    assert found.degraded is not None
    assert "provider-unavailable" in found.degraded
    assert found.hits[0].memory_id == "mem-0001"
    assert found.to_list()[0]["degraded"] is True


def test_a_model_that_cannot_even_be_named_degrades_too(home: Published) -> None:
    """A provider that must be asked for its fingerprint may be down as well."""

    def fail() -> Any:
        raise ProviderUnavailable("no answer to the probe")

    found = Searcher(home.store, fail, home.options).search(
        SearchRequest("ablation", Principal.local(TENANT), NOW)
    )
    assert found.degraded is not None
    assert found.hits


def test_another_model_than_the_index_was_built_with_is_named(home: Published) -> None:
    """Vectors of two models are never compared: the error says which they are and what to run."""
    other = HashedEmbedder.named("32")
    searcher = Searcher(home.store, lambda: other, home.options)
    with pytest.raises(SpaceMismatch) as error:
        searcher.search(SearchRequest("ablation", Principal.local(TENANT), NOW))
    assert "hashed:64" in str(error.value)
    assert "hashed:32" in str(error.value)
    assert "nightly" in error.value.remedy


def test_a_superseded_memory_is_answered_for_by_its_survivor(tmp_path: Path) -> None:
    """From the first read after publication the survivor is found alone, and names the old one.

    Asked as of before, the old one answers: exactly one answer at each time.
    """
    home = Published(tmp_path)
    pair = [memory("Ablation", "catheter ablation"), memory("Ablation", "ablation by catheter")]
    home.publish(pair[:1])
    reader = home.searcher
    request = SearchRequest("catheter ablation", Principal.local(TENANT), NOW)
    assert [h.memory_id for h in reader.search(request).hits] == ["mem-0001"]
    merged = (TENANT, "mem-0001", "mem-0002", 2, False, "anna", "{}")
    home.publish(pair, now=NOW + timedelta(days=1), supersessions=[merged])
    (hit,) = reader.search(request).hits
    assert (hit.memory_id, hit.supersedes) == ("mem-0002", ("mem-0001",))
    assert home.ids("catheter ablation", as_of=1) == ["mem-0001"]
    assert home.ids("catheter ablation", as_of=NOW) == ["mem-0001"]
    assert home.ids("catheter ablation", as_of=NOW + timedelta(days=1)) == ["mem-0002"]
    with pytest.raises(UsageError):
        home.search("catheter ablation", as_of=NOW - timedelta(days=1))


def test_a_retired_memory_is_not_found(tmp_path: Path) -> None:
    """Retirement takes a memory out of search; its record stays."""
    home = Published(tmp_path)
    home.publish([SHARED, OLDER], retirements=[(TENANT, "mem-0001", 1, "withdrawn", "anna")])
    assert home.ids("ablation procedure") == ["mem-0002"]


def test_uses_and_corroborations_count_once_each_and_refresh(tmp_path: Path) -> None:
    """A use and its later acceptance are one event; the latest of them counts for recency."""
    home = Published(tmp_path)
    used = (TENANT, "s9", -1, 0, "mem-0001", NOW, "anna", 1)
    again = (TENANT, "mem-0001", "s9", -1, 0, "reuse", NOW)
    content: tuple[object, ...] = ("concept_clarified", "Ablation", "x", "", "", [], [], "h")
    owner_source_metadata = (None,) * 5
    rule = (None, None, None, "equal-v1", "anna")
    accepted = (*again, 1, *content, *rule, *owner_source_metadata)
    home.publish([memory("Ablation"), memory("Other")], uses=[used], corroborations=[accepted])
    hit = home.search("ablation").hits[0]
    assert hit.uses == 1
    assert hit.terms["access"] == 1
    assert hit.terms["recency"] == pytest.approx(1)
    assert home.search("other").hits[0].terms["access"] == 0


def test_a_memory_decided_in_the_future_is_of_age_zero(tmp_path: Path) -> None:
    """A wrong clock gives recency 1, never more and never a NaN."""
    home = Published(tmp_path)
    home.publish([memory("Ablation", days_ago=-400)])
    assert home.search("ablation").hits[0].terms["recency"] == 1


def test_each_tenant_of_a_supervisor_is_searched_by_itself(tmp_path: Path) -> None:
    """Equal ids of two tenants stay apart, and use is counted within each tenant."""
    home = Published(tmp_path)
    home.publish([memory("Ablation"), memory("Ablation", tenant_id="bank")])
    who = Principal(TENANT, "SUPERVISOR", more_tenants=frozenset({"bank"}))
    found = home.search("ablation", who, tenants=(TENANT, "bank"))
    assert {(h.tenant_id, h.memory_id) for h in found.hits} == {
        (TENANT, "mem-0001"),
        ("bank", "mem-0001"),
    }
    assert [h.tenant_id for h in home.search("ablation", who).hits] == [TENANT]


def test_a_reader_whose_index_version_went_reads_current_once_more(tmp_path: Path) -> None:
    """What was cleaned away while a reader held it costs one more look, not an error."""
    home = Published(tmp_path)
    home.publish([SHARED])
    reader = home.searcher
    reader.served()
    generation, tag = home.store.current()
    gone = tuple(replace(space, version=9_999) for space in generation.spaces)
    reader._served = tag, ServedGeneration(home.store, replace(generation, spaces=gone))
    found = reader.search(SearchRequest("procedure", Principal.local(TENANT), NOW))
    assert [h.memory_id for h in found.hits] == ["mem-0001"]


def test_what_was_opened_is_kept_until_something_is_published(tmp_path: Path) -> None:
    """A second query opens nothing; the first one after a publication sees the new generation."""
    home = Published(tmp_path)
    home.publish([SHARED])
    reader = home.searcher
    first = reader.served()
    assert reader.served() is first
    home.publish([SHARED, OLDER])
    assert reader.served().generation.number == 2
