"""The pre-flight check of a hosted provider: what passes by itself stops nobody, the rest does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from memory_assets.pipeline.health.preflight import REGISTERED, PreflightReport, preflight
from tests.embedding_server import EmbeddingServer, Reply
from tests.providers import TENANT, Hosted, down

Servers = tuple[EmbeddingServer, EmbeddingServer]


def _ask(world: Hosted) -> PreflightReport:
    return preflight(world.again(), lambda: REGISTERED, now=world.now)


def _limited(number: int, body: Mapping[str, Any]) -> Reply:
    return Reply(429, {"error": {"message": "slow down"}}, {"Retry-After": "60"})


@pytest.mark.parametrize("answer", [down, _limited])
def test_a_provider_that_fails_for_a_while_leaves_the_night_its_rows(
    hosted: Hosted, servers: Servers, answer: Any
) -> None:
    """No tenant is stopped: what is new is published, pending, and found by words."""
    hosted.memories(2)
    hosted.night()
    hosted.memories(2, first=100)
    servers[0].script = answer
    report = _ask(hosted)
    assert report.ok
    said = next(o.message for o in report.tenants[TENANT] if o.name == "provider")
    assert "new texts wait for their vectors" in said
    night = hosted.night().publish
    assert (night.new_memories, night.pending) == (2, 2)
    assert hosted.search("counted by unit 101").hits[0].content["subject"] == "measure 101"


def test_a_budget_that_is_used_up_stops_no_tenant(hosted: Hosted) -> None:
    """A night without money for one word publishes what came, for a later one to embed."""
    hosted.memories(2)
    hosted.night()
    hosted.memories(2, first=100)
    hosted.again(embedding_budget_dollars="0")
    assert _ask(hosted).ok
    assert hosted.night().publish.pending == 2


@pytest.mark.parametrize(
    "answer",
    [
        Reply(401, {"error": {"message": "bad key"}}),
        Reply(200, {"data": [{"index": 0, "embedding": [1.0]}]}),
    ],
)
def test_a_provider_that_refuses_for_good_stops_every_tenant(
    hosted: Hosted, servers: Servers, answer: Reply
) -> None:
    """A key that is refused, or vectors of another length, need a person first."""
    hosted.memories(2)
    hosted.night()
    servers[0].script = lambda number, body: answer
    report = _ask(hosted)
    assert report.stopped[TENANT].name == "provider"
    assert report.stopped[TENANT].remedy
