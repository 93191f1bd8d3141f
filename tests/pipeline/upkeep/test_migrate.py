"""Moving to another embedding model and back; the models are real servers on loopback."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memory_assets.errors import UsageError
from memory_assets.pipeline.inspect.embedding_status import embedding_status
from memory_assets.pipeline.upkeep.migrate import estimate, migrate, roll_back
from memory_assets.storage.generations import Generation
from tests.embedding_server import EmbeddingServer, Reply
from tests.providers import FIRST, SECOND, Hosted, dies_on_item

Servers = tuple[EmbeddingServer, EmbeddingServer]


@pytest.fixture(name="world")
def _world(hosted: Hosted) -> Hosted:
    """Forty memories, published with the first model."""
    hosted.memories(40)
    hosted.night()
    return hosted


def _served(world: Hosted) -> str:
    current, _ = world.workspace.generations.current()
    assert current.serving is not None
    return current.serving.space.model


def test_an_estimate_asks_nobody(world: Hosted, servers: Servers) -> None:
    """Texts, tokens and dollars come from the texts and the price alone."""
    found = estimate(world.workspace, SECOND)
    assert (found.memories, found.texts, found.cached) == (40, 40, 0)
    assert found.tokens > 40
    assert found.dollars == pytest.approx(found.tokens / 1e6)
    assert servers[1].bodies == []
    assert not found.serves
    own = estimate(world.workspace, FIRST)
    assert (own.cached, own.serves) == (40, True)


def test_a_migration_compares_and_swaps_once(world: Hosted, servers: Servers) -> None:
    """The new space serves, the old one waits; nights and searches go on without new settings."""
    done = migrate(world.workspace, SECOND, now=world.now)
    assert (done.swapped, done.pending, done.problem) == (True, 0, "")
    assert done.tokens > 0
    assert world.spaces() == [("second-model", 40, 0), ("first-model", 40, 0)]
    world.again()
    asked = len(servers[0].bodies)
    found = world.search("counted by unit 7")
    assert (found.degraded, found.notices) == (None, ())
    world.memories(5, first=100)
    night = world.night().publish
    assert (night.memories, night.pending) == (45, 0)
    assert world.spaces() == [("second-model", 45, 0), ("first-model", 45, 5)]
    assert len(servers[0].bodies) == asked, "the former model is paid for nothing"
    status = embedding_status(world.workspace)
    assert (status.in_force[0], status.migrated_from) == (SECOND, FIRST)
    assert world.night().publish.published is False


def test_a_rollback_fills_what_came_since_and_swaps_back(world: Hosted, servers: Servers) -> None:
    """The former space serves whole again; a second rollback goes forward."""
    migrate(world.workspace, SECOND, now=world.now)
    world.again()
    world.memories(5, first=100)
    world.night()
    back = roll_back(world.again(), now=world.now)
    assert (back.swapped, back.spec) == (True, FIRST)
    assert world.spaces() == [("first-model", 45, 0), ("second-model", 45, 0)]
    assert embedding_status(world.again()).migrated_from == ""
    assert world.search("counted by unit 7").notices == ()
    forward = roll_back(world.workspace, now=world.now)
    assert (forward.swapped, forward.spec) == (True, SECOND)


def test_a_migration_that_is_cut_short_goes_on(world: Hosted, servers: Servers) -> None:
    """Nothing is swapped until all vectors are there, and none is embedded twice."""
    world.memories(600, first=100)
    world.night()
    dies_on_item(servers[1], 400)
    first = migrate(world.again(), SECOND, now=world.now)
    assert (first.swapped, first.problem) == (False, "provider-unavailable")
    assert 0 < first.pending < 640
    assert _served(world) == "first-model"
    assert world.search("counted by unit 7").notices == ()
    servers[1].script = lambda number, body: None
    servers[1].bodies.clear()
    again = migrate(world.again(), SECOND, now=world.now)
    assert (again.swapped, again.pending) == (True, 0)
    embedded = [
        t for body in servers[1].bodies if body["input_type"] == "document" for t in body["input"]
    ]
    assert first.pending <= len(embedded) <= first.pending + 1, "the probe text, at most"


def test_the_former_space_goes_when_its_time_is_over(world: Hosted) -> None:
    """After the grace period a night leaves it out, and there is nothing to go back to."""
    migrate(world.workspace, SECOND, now=world.now)
    world.now += timedelta(days=8)
    world.again()
    world.night()
    assert world.spaces() == [("second-model", 40, 0)]
    with pytest.raises(UsageError, match="No former embedding space"):
        roll_back(world.workspace, now=world.now)


def test_a_setting_that_is_changed_afterwards_is_obeyed(world: Hosted) -> None:
    """The manifest's choice stands only against the setting that it replaced."""
    migrate(world.workspace, SECOND, now=world.now)
    world.again(embedding="hashed:48")
    world.night()
    assert _served(world) == "48"
    assert world.workspace.generations.current()[0].migration is None


def test_new_weights_under_an_old_name_get_a_space_of_their_own(
    world: Hosted, servers: Servers
) -> None:
    """Migrating to the same name takes what answers there today."""
    servers[0].weights = "others"
    done = migrate(world.again(), FIRST, now=world.now)
    assert done.swapped
    current: Generation = world.again().generations.current()[0]
    assert [s.space.model for s in current.spaces] == ["first-model", "first-model"]
    assert current.spaces[0].space.fingerprint != current.spaces[1].space.fingerprint
    assert world.search("counted by unit 7").degraded is None


def test_migrating_to_what_serves_does_nothing(world: Hosted) -> None:
    """No generation is published for it."""
    before, _ = world.workspace.generations.current()
    done = migrate(world.workspace, FIRST, now=world.now)
    assert (done.swapped, done.problem) == (False, "it serves already")
    assert world.workspace.generations.current()[0] == before


def test_an_empty_home_has_nothing_to_migrate(hosted: Hosted) -> None:
    """The error says to set the model and run a night."""
    with pytest.raises(UsageError, match="nightly"):
        migrate(hosted.workspace, SECOND, now=hosted.now)


def test_a_migration_to_a_model_that_refuses_leaves_all_as_it_was(
    world: Hosted, servers: Servers
) -> None:
    """The former space serves; the error is the provider's."""
    servers[1].script = lambda number, body: Reply(401, {})
    with pytest.raises(Exception, match="Rotate the key"):
        migrate(world.workspace, SECOND, now=world.now)
    assert world.spaces() == [("first-model", 40, 0)]
