"""Nights whose embedding provider fails, changes or costs too much; real servers on loopback."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from memory_assets.errors import ProviderRejected, ProviderUnavailable, SettingsError, SpaceMismatch
from memory_assets.pipeline.inspect.embedding_status import embedding_status
from memory_assets.pipeline.workspace import Workspace
from memory_assets.storage.backup import back_up, restore
from memory_assets.storage.generations import GenerationStore
from memory_assets.storage.home import Home
from tests.building import close, row
from tests.embedding_server import KEY, EmbeddingServer, Reply
from tests.providers import FIRST, SECOND, Hosted, dies_on_item, down

Servers = tuple[EmbeddingServer, EmbeddingServer]


def test_a_provider_that_dies_midway_leaves_pending_vectors_and_the_next_night_fills_them(
    hosted: Hosted, servers: Servers
) -> None:
    """Item 501 of 1,000: all is published and found by words; no vector of another model."""
    hosted.memories(1_000)
    dies_on_item(servers[0], 501)
    night = hosted.night().publish
    assert (night.published, night.memories) == (True, 1_000)
    assert 0 < night.pending < 1_000
    assert night.embedded == 1_000 - night.pending
    assert night.problems == {FIRST: "provider-unavailable"}
    assert servers[1].bodies == []
    found = hosted.search("counted by unit 990")
    assert found.degraded is not None
    assert found.hits[0].content["subject"] == "measure 990"
    servers[0].script = lambda number, body: None
    servers[0].bodies.clear()
    hosted.again()
    again = hosted.night().publish
    assert (again.published, again.pending, again.embedded) == (True, 0, night.pending)
    assert hosted.spaces() == [("first-model", 1_000, 0)]
    assert hosted.search("counted by unit 990").degraded is None


def test_a_budget_stops_before_it_is_passed_and_the_next_run_goes_on(
    hosted: Hosted, servers: Servers
) -> None:
    """Every run spends its cap at most; after some runs nothing is pending."""
    hosted.memories(600)
    hosted.again(embedding_budget_dollars="2", embedding_price="1000")
    pending, spent = [600], 0.0
    while pending[-1] and len(pending) < 9:
        hosted.again()
        night = hosted.night().publish
        cost = sum(p.dollars for p in night.providers)
        assert cost <= 2
        spent += cost
        assert night.pending < pending[-1]
        pending.append(night.pending)
    assert pending[-1] == 0
    assert len(pending) > 2
    assert spent > 0


def test_the_cost_of_a_run_includes_what_is_embedded_after_publication(
    hosted: Hosted, servers: Servers
) -> None:
    """The queue compares candidates that wait; the status tells what the provider counted."""
    hosted.memories(20)
    hosted.night()
    hosted.tenants('[tenants.clinic]\nreview = "manual"\nlanguage = "en"\n')
    waits = row(1, subject="measure 7", detail="counted by unit 700")
    hosted.session("clinic", "waits", waits, close(2))
    hosted.again()
    servers[0].bodies.clear()
    published = hosted.night().publish
    (first, _) = embedding_status(hosted.workspace).last_run["providers"]
    assert first["tokens"] == sum(len(text.split()) for text in servers[0].texts)
    assert first["tokens"] > published.providers[0].tokens
    hosted.again().derive_queue(now=hosted.now)
    assert embedding_status(hosted.workspace).last_run["providers"][0] == first


def test_the_dimension_changes_between_two_nights(hosted: Hosted, servers: Servers) -> None:
    """The new space is built whole and swapped in once; the old one serves meanwhile."""
    hosted.memories(300)
    hosted.night()
    hosted.again(embedding=f"{SECOND}, {FIRST}")
    dies_on_item(servers[1], 280)
    middle = hosted.night().publish
    assert middle.building.startswith("second-model-")
    assert hosted.spaces() == [("first-model", 300, 0)]
    found = hosted.search("counted by unit 7")
    assert found.degraded is None
    assert found.hits[0].cosine is not None
    assert any("until the index of voyage:second-model is complete" in n for n in found.notices)
    hosted.memories(10, first=500)
    during = hosted.night().publish
    assert (during.memories, during.pending) == (310, 0)
    assert hosted.spaces() == [("first-model", 310, 0)]
    servers[1].script = lambda number, body: None
    servers[1].bodies.clear()
    hosted.again()
    last = hosted.night().publish
    assert (last.published, last.building) == (True, "")
    assert len(servers[1].texts) < 310, "what was embedded before is not embedded again"
    assert hosted.spaces() == [("second-model", 310, 0)]
    assert hosted.search("counted by unit 7").notices == ()


def test_a_warm_fallback_keeps_a_space_and_answers_while_the_first_is_down(
    hosted: Hosted, servers: Servers
) -> None:
    """Vectors decide as before, and the answer says who gave them; words alone without it."""
    hosted.memories(40)
    hosted.again(embedding_warm=SECOND)
    hosted.night()
    assert hosted.spaces() == [("first-model", 40, 0), ("second-model", 40, 0)]
    usual = hosted.search("counted by unit 7")
    assert usual.space_id is not None
    assert usual.space_id.startswith("first-model")
    servers[0].script = down
    found = hosted.search("counted by unit 7")
    assert found.degraded is None
    assert found.space_id is not None
    assert found.space_id.startswith("second-model")
    assert found.hits[0].cosine is not None
    assert any(SECOND in n and "provider-unavailable" in n for n in found.notices)
    servers[1].script = down
    words = hosted.search("counted by unit 7")
    assert words.degraded is not None
    assert words.hits[0].content["subject"] == "measure 7"
    assert words.to_list()[0]["degraded"] is True


def test_a_warm_fallback_that_fails_does_not_stop_the_night(
    hosted: Hosted, servers: Servers
) -> None:
    """Its space joins only when it is whole, and its rows wait for it afterwards."""
    hosted.memories(20)
    hosted.again(embedding_warm=SECOND)
    servers[1].script = lambda number, body: Reply(401, {})
    first = hosted.night().publish
    assert (first.published, first.pending) == (True, 0)
    assert first.problems == {SECOND: "provider-rejected"}
    assert hosted.spaces() == [("first-model", 20, 0)]
    servers[1].script = lambda number, body: None
    hosted.night()
    assert hosted.spaces()[1] == ("second-model", 20, 0)
    servers[1].script = lambda number, body: Reply(401, {})
    hosted.memories(5, first=100)
    hosted.night()
    assert hosted.spaces() == [("first-model", 25, 0), ("second-model", 25, 5)]


def test_a_cold_fallback_is_never_asked(hosted: Hosted, servers: Servers) -> None:
    """All providers are down at query time: words answer, marked degraded."""
    hosted.memories(20)
    hosted.night()
    servers[0].script = down
    found = hosted.search("counted by unit 7")
    assert found.degraded is not None
    assert "provider-unavailable" in found.degraded
    assert found.hits[0].content["subject"] == "measure 7"
    assert servers[1].bodies == []


def test_another_model_than_the_stored_one_is_an_error_with_the_command(hosted: Hosted) -> None:
    """No night has seen the new setting: the search names both models and what to run."""
    hosted.memories(5)
    hosted.night()
    hosted.again(embedding="hashed:32")
    with pytest.raises(SpaceMismatch) as error:
        hosted.search("counted")
    assert "hashed:32" in error.value.what
    assert FIRST in error.value.what
    assert "memory-assets nightly" in error.value.remedy


def test_other_weights_behind_the_same_name_are_noticed(hosted: Hosted, servers: Servers) -> None:
    """Equal name and dimension are not enough: nothing is embedded; the error has the command."""
    hosted.memories(5)
    hosted.night()
    servers[0].weights = "others"
    for probe in (hosted.home / "cache" / "probes").glob("*.json"):
        text = probe.read_text("utf-8")
        at = text.index('"checked_at": ') + len('"checked_at": ')
        probe.write_text(text[:at] + "0.0" + text[text.index(",", at) :], "utf-8")
    hosted.again()
    hosted.memories(5, first=50)
    with pytest.raises(SpaceMismatch, match="embedding migrate --to openai:first-model"):
        hosted.night()
    assert hosted.spaces() == [("first-model", 5, 0)]


def test_a_model_is_known_again_without_the_cache(
    hosted: Hosted, servers: Servers, tmp_path: Path
) -> None:
    """A cache may be deleted, and backups hold none; hosted models answer a little unlike before.

    The same weights keep their index, unpaid for; other ones are noticed as ever.
    """
    hosted.memories(5)
    hosted.night()
    servers[0].noise = 0.002
    shutil.rmtree(hosted.home / "cache")
    assert hosted.search("counted by unit 3").degraded is None
    back_up(GenerationStore(Home(hosted.home)), tmp_path / "backup", now=hosted.now)
    shutil.rmtree(hosted.home)
    restore(tmp_path / "backup", Home(hosted.home))
    servers[0].bodies.clear()
    hosted.again()
    night = hosted.night().publish
    assert (night.published, night.embedded, night.building) == (False, 0, "")
    assert not any("unit 3" in text and "measure" in text for text in servers[0].texts)
    assert hosted.search("counted by unit 3").degraded is None
    shutil.rmtree(hosted.home / "cache", ignore_errors=True)
    servers[0].weights = "others"
    hosted.memories(5, first=50)
    hosted.again()
    with pytest.raises(SpaceMismatch, match="embedding migrate --to openai:first-model"):
        hosted.night()


def test_a_first_night_without_its_provider_publishes_nothing_and_loses_nothing(
    hosted: Hosted, servers: Servers
) -> None:
    """The space has no name yet; the error is transient, and the next night does everything."""
    hosted.memories(5)
    servers[0].script = down
    with pytest.raises(ProviderUnavailable):
        hosted.night()
    servers[0].script = lambda number, body: None
    hosted.again()
    assert hosted.night().publish.memories == 5


def test_a_refused_key_is_named_and_never_shown(hosted: Hosted, servers: Servers) -> None:
    """401: rotate the key. No file below the home, cache and run states included, holds it."""
    hosted.memories(5)
    hosted.night()
    said = {"error": {"message": f"bad key {KEY}"}}
    servers[0].script = lambda number, body: Reply(401, said)
    hosted.again()
    hosted.memories(5, first=50)
    with pytest.raises(ProviderRejected, match="Rotate the key") as error:
        hosted.night()
    assert KEY not in str(error.value)
    assert "OPENAI_API_KEY" in error.value.remedy
    assert any(KEY in h.get("authorization", "") for h in servers[0].headers)
    holding = [p for p in hosted.root.rglob("*") if p.is_file() and KEY.encode() in p.read_bytes()]
    assert holding == []


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("embedding", "no-colon", "PROVIDER:MODEL"),
        ("embedding", "hashed:8, hashed:8", "twice"),
        ("embedding_base_url", "https://anna:secret@host/v1", "password"),
        ("embedding_base_url", "https://host/v1?api_key=abc", "environment"),
        ("embedding_base_url", "ftp://host", "http"),
        ("embedding_price", "openai:x=cheap", "number"),
        ("embedding_budget_dollars", "-1", "between"),
        ("embedding_warm", "hashed:9", "fallback"),
    ],
)
def test_wrong_settings_are_said_before_anything_runs(
    tmp_path: Path, name: str, value: str, said: str
) -> None:
    """Each with its name; an address is never repeated, since it may hold a secret."""
    with pytest.raises(SettingsError, match=said) as error:
        _ = Workspace.load(home=str(tmp_path), **{name: value}).chain
    assert name in str(error.value)
    assert "secret" not in str(error.value)
    assert "abc" not in str(error.value)
