"""A wrong match undone, in real nights."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_assets.domain.intents import Detach
from memory_assets.errors import AccessDenied, UsageError
from memory_assets.pipeline.inspect.history import memory_history
from memory_assets.pipeline.review.detach import detach
from memory_assets.steps.registry.activity import accesses_of
from memory_assets.steps.review.items import ItemRef
from memory_assets.storage.intents import append_intents
from memory_assets.storage.pair_log import read_pair_log
from tests.building import close, row
from tests.nights import World
from tests.steps.promotion.test_settle import ALIKE, FIRST, PROVEN

ITEM = ItemRef("ws", "s2", 1)


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.tenants(f'[tenants.ws]\nreview = "automatic"\n{PROVEN}')
    world.session("ws", "s1", row(1, subject="Inpatient", detail=FIRST, client_id="c1"), close(2))
    world.night()
    world.session(
        "ws",
        "s2",
        row(1, subject="Inpatient", detail=ALIKE, rationale="own words", client_id="c1"),
        row(2, subject="Inpatient", detail=FIRST + ".", client_id="c1"),
        close(3),
    )
    assert world.night().publish.corroborated == 2
    return world


def test_a_corroboration_becomes_its_own_memory(world: World) -> None:
    """Words, key, time and scope are its own; the other memory loses one access; it stays so."""
    before = world.workspace.registry()
    assert accesses_of(before, now=world.now)["accesses"].to_list() == [2]
    done = detach(world.workspace, ITEM, by="anna", reason="not the same", now=world.now)
    assert (done.memory_id, done.detached_as) == ("mem-0001", "mem-0002")
    view = world.workspace.registry()
    old, new = view.memories.sort("memory_id").to_dicts()
    assert (new["detail"], new["rationale"], new["session_id"]) == (ALIKE, "own words", "s2")
    assert (new["scope"], new["client_id"]) == (old["scope"], "c1")
    assert (new["origin"], new["verdict_by"]) == ("reviewed", "reviewer anna")
    assert view.active().height == 2
    assert accesses_of(view, now=world.now)["accesses"].to_list() == [1]
    (pair,) = read_pair_log(world.workspace.home).reviews
    assert (pair.verdict, pair.pair) == ("different", ("mem-0001", "mem-0002"))
    assert not world.night().publish.published


def test_a_detached_one_is_found_by_search(world: World) -> None:
    """Registry and index agree, and both are found."""
    from memory_assets.domain.visibility import Principal
    from memory_assets.steps.search.types import SearchRequest

    detach(world.workspace, ITEM, by="anna", reason="", now=world.now)
    found = world.workspace.search(SearchRequest("Inpatient", Principal.local("ws"), world.now))
    assert {hit.memory_id for hit in found.hits} == {"mem-0001", "mem-0002"}


def test_only_a_match_by_meaning_can_be_detached(world: World) -> None:
    """Equal words, a decision that corroborates nothing, and a second time are refused."""
    detach(world.workspace, ITEM, by="anna", reason="", now=world.now)
    for item in (ItemRef("ws", "s2", 2), ItemRef("ws", "s1", 1), ITEM, ItemRef("az", "s2", 1)):
        with pytest.raises(UsageError):
            detach(world.workspace, item, by="anna", reason="", now=world.now)


def test_source_owner_and_metadata_are_those_of_the_incoming_row(tmp_path: Path) -> None:
    """In a scope of the whole tenant the two rows may name different people."""
    world = World(tmp_path)
    world.tenants(f'[tenants.ws]\nreview = "automatic"\n{PROVEN}')
    shared = {"subject": "Inpatient", "audience": "tenant"}
    first = row(1, detail=FIRST, client_id="c1", user_id="u1", **shared)
    world.session("ws", "s1", first, close(2))
    world.night()
    second = row(1, detail=ALIKE, client_id="c2", source="CHAT", metadata={"sheet": "B7"}, **shared)
    world.session("ws", "s2", second, close(2))
    assert world.night().publish.corroborated == 1
    detach(world.workspace, ITEM, by="anna", reason="", now=world.now)
    new = world.workspace.registry().memories.filter(memory_id="mem-0002").to_dicts()[0]
    assert (new["client_id"], new["user_id"], new["audience"]) == ("c2", None, "tenant")
    assert (new["source"], new["metadata"]) == ("CHAT", '{"sheet":"B7"}')


def test_a_kill_before_the_pair_is_remembered_is_mended_by_the_same_command(world: World) -> None:
    """Published, but the merge would pair the two again: said once more, it is put on record."""
    wish = Detach(
        tenant_id="ws",
        memory_id="mem-0001",
        session_id="s2",
        decision_seq=1,
        decided_by="reviewer anna",
        decided_at=world.now,
    )
    append_intents(world.workspace.home, [wish])
    world.workspace.publish(run_id="killed", now=world.now)
    done = detach(world.workspace, ITEM, by="anna", reason="", now=world.now)
    assert (done.memory_id, done.detached_as) == ("mem-0001", "mem-0002")
    (pair,) = read_pair_log(world.workspace.home).reviews
    assert (pair.verdict, pair.pair) == ("different", ("mem-0001", "mem-0002"))
    with pytest.raises(UsageError):
        detach(world.workspace, ITEM, by="anna", reason="", now=world.now)


@pytest.mark.parametrize("by", ["agent-7", ""])
def test_only_a_person_detaches(world: World, by: str) -> None:
    """An agent, or nobody, is turned away before anything is on record."""
    with pytest.raises(AccessDenied) as caught:
        detach(world.workspace, ITEM, by=by, reason="", now=world.now)
    assert "--by" in caught.value.remedy
    assert world.workspace.registry().detachments.is_empty()
    assert not read_pair_log(world.workspace.home).reviews


def test_both_histories_tell_of_it(world: World) -> None:
    """The memory that lost a corroboration says which, and the new one where it came from."""
    detach(world.workspace, ITEM, by="anna", reason="not the same", now=world.now)
    changes = {
        memory: memory_history(world.workspace, memory, tenant_id="ws").changes
        for memory in ("mem-0001", "mem-0002")
    }
    (lost,), (made,) = changes["mem-0001"], changes["mem-0002"]
    assert (lost["change"], lost["detached_as"], lost["reason"]) == (
        "detached",
        "mem-0002",
        "not the same",
    )
    assert (made["change"], made["memory_id"]) == ("detached from", "mem-0001")
