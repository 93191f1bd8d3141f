"""Feedback waits in the review queue, and only a reviewer's word makes it a retirement."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_assets.domain.visibility import Principal
from memory_assets.pipeline.nightly.unpublished import unpublished_verdicts
from memory_assets.pipeline.review.decide import ReviewDesk, Verdict
from memory_assets.pipeline.review.state import QueueFilter, ReviewState
from memory_assets.steps.review.items import parse_items
from memory_assets.steps.review.queue import read_queue
from memory_assets.steps.search.feedback import give_feedback
from memory_assets.storage.intents import read_intents
from tests.building import close, note, row
from tests.nights import World

ADMIN = Principal.local("clinic")


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    """One published memory."""
    world = World(tmp_path)
    world.session("clinic", "s1", row(1), note(2, "memory_promoted", "seq:1"), close(3))
    world.night()
    return world


def _give(world: World, kind: Any = "wrong", why: str = "the year is missing") -> str:
    found = give_feedback(
        world.workspace.searcher,
        ADMIN,
        "mem-0001",
        tenant_id=None,
        kind=kind,
        why=why,
        given_by="berta",
        now=world.now,
    )
    return f"clinic/feedback:mem-0001+{found.feedback_id}"


def _states(world: World) -> dict[str, str]:
    state = ReviewState(world.workspace, now=world.now)
    wanted = QueueFilter("clinic", label="feedback", state="all")
    return {i["item_id"]: i["state"] for i in state.queue(ADMIN, wanted).items}


def _decide(world: World, item: str, kind: Any) -> None:
    desk = ReviewDesk(world.workspace, "anna", now=world.now)
    assert desk.decide(parse_items([item]), Verdict(kind)).refused == ()


def test_feedback_is_an_item_with_memory_reason_giver_and_time(world: World) -> None:
    """It shows at once, and after the night in the table and in its figures; nothing else moves."""
    given = world.now
    item = _give(world)
    state = ReviewState(world.workspace, now=world.now)
    (shown,) = state.queue(ADMIN, QueueFilter("clinic")).items
    assert (shown["item_id"], shown["label"]) == (item, "feedback: wrong")
    assert shown["memory_ids"] == ["mem-0001"]
    assert shown["why"] == f"berta, {given:%Y-%m-%d %H:%M} UTC: the year is missing"
    night = world.night()
    assert not night.publish.published
    (queued,) = read_queue(world.workspace.derived).to_dicts()
    assert (queued["item_id"], queued["waits_since"]) == (item, given)
    found = world.workspace.derive_queue(now=world.now).backlog
    assert (found.waiting, found.by_label) == (1, {"feedback: wrong": 1})


@pytest.mark.parametrize("kind", ["wrong", "outdated"])
def test_an_accepted_complaint_retires_the_memory_once(world: World, kind: str) -> None:
    """The retirement bears the reviewer's name; later nights ask for nothing again."""
    item = _give(world, kind)
    other = _give(world, kind, "also the unit")
    _decide(world, item, "accept")
    _decide(world, other, "accept")
    assert unpublished_verdicts(world.workspace, now=world.now) == sorted([item, other])
    assert world.workspace.settle_proposals(now=world.now) == 1
    assert world.workspace.settle_proposals(now=world.now) == 0
    assert world.night().publish.intents_applied == 1
    assert world.workspace.registry().retirements["decided_by"].to_list() == ["reviewer anna"]
    assert not world.night().publish.published
    assert len(read_intents(world.workspace.home).recorded) == 1
    assert unpublished_verdicts(world.workspace, now=world.now) == []
    assert world.workspace.proposals(now=world.now).refused == ()


@pytest.mark.parametrize(
    ("kind", "verdict", "state"),
    [
        ("useful", "accept", "accepted"),
        ("wrong", "decline", "declined"),
        ("outdated", "defer", "deferred"),
    ],
)
def test_other_verdicts_change_no_memory(world: World, kind: str, verdict: str, state: str) -> None:
    """Praise is taken note of, a complaint declined or put off: nothing waits for a run."""
    item = _give(world, kind)
    _decide(world, item, verdict)
    assert unpublished_verdicts(world.workspace, now=world.now) == []
    assert not world.night().publish.published
    assert _states(world) == {item: state}
    assert world.workspace.registry().active().height == 1


def test_a_complaint_about_a_retired_memory_still_waits(world: World) -> None:
    """Nothing unread disappears; accepted, it asks for no second retirement."""
    first, second = _give(world), _give(world, "outdated", "since 2024")
    _decide(world, first, "accept")
    world.night()
    assert _states(world) == {first: "accepted", second: "waiting"}
    _decide(world, second, "accept")
    assert world.workspace.settle_proposals(now=world.now) == 0


def test_a_torn_line_costs_only_itself(world: World) -> None:
    """After a crash amid a line the sound items wait, and the next one is added whole."""
    first = _give(world)
    path = world.workspace.home.feedback
    path.write_bytes(path.read_bytes() + b'{"type":"given","tenant_id":"cli')
    assert _states(world) == {first: "waiting"}
    second = _give(world, "useful", "it helped")
    assert _states(world) == {first: "waiting", second: "waiting"}
