"""Findings about the embedding providers and the spaces of the index."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_assets.pipeline.health.findings import Finding
from memory_assets.pipeline.health.models import models, unserved
from memory_assets.pipeline.workspace import Workspace
from tests.building import close, note, row
from tests.embedding_server import KEY, EmbeddingServer, Reply
from tests.merging import MergeWorld
from tests.nights import World
from tests.providers import FIRST, SECOND, Hosted, down

Servers = tuple[EmbeddingServer, EmbeddingServer]


def _named(workspace: Workspace, *, deep: bool = False) -> dict[str, Finding]:
    return {finding.name: finding for finding in models(workspace, deep=deep)}


def test_a_model_that_is_not_installed_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The setting names a packaged model whose package is not there."""
    monkeypatch.setattr("memory_assets.embedding.packaged.is_installed", lambda name: False)
    workspace = Workspace.load(
        **{**World(tmp_path).flags, "embedding": "packaged:all-MiniLM-L6-v2"}
    )
    assert _named(workspace)["model"].level == "error"


def test_another_model_than_the_published_one_is_said(tmp_path: Path) -> None:
    """The next night will build a new index; until then the old one is published."""
    world = World(tmp_path)
    world.session("clinic", "s", row(1), note(2, "memory_promoted", "seq:1"), close(3))
    world.night()
    changed = Workspace.load(**{**world.flags, "embedding": "hashed:32"})
    found = _named(changed, deep=True)
    assert found["model"].message.startswith("hashed:32 answers with 32 dimensions")
    assert found["embedding-space"].mend == "memory-assets nightly"
    assert "embedding-space" not in _named(world.workspace)


def test_every_provider_is_asked(hosted: Hosted, servers: Servers) -> None:
    """Each answers as declared; the fallback too, although no night would ask it."""
    found = _named(hosted.workspace)
    assert found["model"].message.startswith(f"{FIRST} answers with 64 dimensions")
    assert found["fallback"].message.startswith(f"{SECOND} answers with 32 dimensions")
    assert servers[0].bodies
    assert servers[1].bodies


def test_a_refused_key_a_wrong_length_and_an_outage_are_told_apart(
    hosted: Hosted, servers: Servers
) -> None:
    """401 says to rotate the key; the key itself is in no finding."""
    servers[0].script = lambda number, body: Reply(401, {"error": {"message": KEY}})
    servers[1].dimension = 48
    found = _named(hosted.again(embedding_dimension=f"{FIRST}=64, {SECOND}=32"))
    assert found["model"].level == "error"
    assert "Rotate the key" in found["model"].mend
    assert found["fallback"].level == "warning"
    assert "48 numbers, not 32" in found["fallback"].message
    servers[0].script = down
    found = _named(hosted.again())
    assert (found["model"].level, "Breaker: closed" in found["model"].message) == ("warning", True)
    assert not any(KEY in str(f.to_dict()) for f in found.values())


def test_a_budget_that_ended_the_last_run_is_shown(hosted: Hosted) -> None:
    """Whoever finds vectors missing learns why, although the provider is well."""
    hosted.memories(300)
    hosted.again(embedding_budget_dollars="1", embedding_price="500")
    night = hosted.night().publish
    assert 0 < night.pending < 300
    found = _named(hosted.again())["last-run"]
    assert (found.level, "budget-exhausted" in found.message) == ("info", True)


def test_a_last_run_that_met_a_final_problem_asks_for_mending(
    hosted: Hosted, servers: Servers
) -> None:
    """A refused key does not pass by itself, so nobody is told to do nothing."""
    hosted.memories(3)
    hosted.again(embedding_warm=SECOND)
    servers[1].script = lambda number, body: Reply(401, {}) if number > 1 else None
    assert hosted.night().publish.problems == {SECOND: "provider-rejected"}
    last = _named(hosted.again())["last-run"]
    assert "provider-rejected" in last.message
    assert "mend" in last.mend
    assert "nothing to do" not in last.mend


def test_a_budget_that_can_stop_nothing_is_said(hosted: Hosted) -> None:
    """A model of one's own has no price, until somebody sets one; zero is an answer too."""
    hosted.more.update(embedding_budget_dollars="1", embedding_price=None)
    found = _named(hosted.again())["budget"]
    assert (found.level, FIRST in found.message) == ("warning", True)
    assert "embedding_price" in found.mend
    for price in ("2", "0"):
        assert "budget" not in _named(hosted.again(embedding_price=price))
    assert "budget" not in _named(hosted.again(embedding_price=None, embedding_budget_dollars=None))


def test_breakers_of_the_last_run_are_shown(hosted: Hosted, servers: Servers) -> None:
    """Another process sees that the run ended with an open breaker."""
    hosted.memories(3)
    hosted.night()
    servers[0].script = down
    hosted.memories(3, first=50)
    for _ in range(3):
        hosted.night()
    servers[0].script = lambda number, body: None
    breaker = _named(hosted.again())["breaker"]
    assert f"{FIRST} was open" in breaker.message
    assert "provider-unavailable" in breaker.message


def test_italian_texts_and_an_english_model_do_not_match() -> None:
    """The share that is not served; nothing for a multilingual model, or for a stray text."""
    italian, english = "la spesa per le visite che non sono rimborsate", "the cost of the visits"
    assert unserved("all-MiniLM-L6-v2", [italian, english]) == 0.5
    assert unserved("sentence-transformers/all-MiniLM-L6-v2", [italian]) == 1.0
    assert unserved("multilingual-e5-small", [italian]) == 0.0
    assert unserved("all-MiniLM-L6-v2", [italian, *[english] * 19]) == 0.0
    assert unserved("all-MiniLM-L6-v2", []) == 0.0


def test_doctor_names_the_command_that_changes_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A home of Italian memories with a model that knows English alone gets a warning."""
    world = MergeWorld(tmp_path, embedding="hashed:64")
    world.add([("Visita", "la visita che non e rimborsata dalla cassa")])
    monkeypatch.setattr("memory_assets.pipeline.health.models.ENGLISH_ONLY", ("64", "hashed"))
    found = _named(world.workspace())["model-language"]
    assert found.level == "warning"
    assert "embedding migrate" in found.mend
