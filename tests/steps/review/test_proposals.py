"""Retirement: a memory whose ground is gone is proposed, decided on, and retired once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_assets.domain.intents import Remove
from memory_assets.domain.review import ProposalDecision
from memory_assets.pipeline.review.decide import ReviewDesk, Verdict
from memory_assets.steps.review.items import ProposalRef
from memory_assets.steps.review.queue import read_queue
from memory_assets.storage.intents import append_intents, read_intents
from memory_assets.storage.review_log import append_review_decisions
from tests.building import close, note, row
from tests.nights import World

RETIRE = ProposalRef("clinic", "retire:mem-0001")
Rows = list[dict[str, Any]]
BEFORE: Rows = [row(1), row(2), note(3, "memory_promoted", "seq:1"), close(4)]


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    """One memory, accepted by a marker of its own session."""
    world = World(tmp_path)
    world.session("clinic", "s1", *BEFORE)
    world.night()
    assert world.workspace.registry().active()["memory_id"].to_list() == ["mem-0001"]
    return world


def _go_on(world: World, *rows: dict[str, Any]) -> None:
    world.session("clinic", "s1", *BEFORE, *rows, close(9))
    world.night()


def _proposals(world: World) -> dict[str, str]:
    found = world.workspace.proposals(now=world.now)
    return {p.proposal_id: found.state(v) for p, v in found.proposals}


def _decide(world: World, kind: Any) -> None:
    done = ReviewDesk(world.workspace, "anna", now=world.now).decide([RETIRE], Verdict(kind))
    assert (len(done.recorded), done.refused) == (1, ())


@pytest.mark.parametrize(
    ("last", "why"),
    [
        (note(5, "decision_withdrawn", "seq:1"), "withdrawn by seq:5"),
        (row(5, "phase_rolled_back", phase="F1"), "phase rolled back by seq:5"),
        (note(5, "decision_withdrawn", "seq:3"), "taken back"),
        (note(5, "memory_promotion_declined", "seq:1"), "declined later"),
    ],
)
def test_what_lost_its_ground_is_proposed_and_never_dropped(
    world: World, last: dict[str, Any], why: str
) -> None:
    """Withdrawn, rolled back, its marker taken back, or declined later: the memory stays so far."""
    _go_on(world, last)
    assert _proposals(world) == {"retire:mem-0001": "waiting"}
    (queued,) = read_queue(world.workspace.derived).filter(kind="retire").to_dicts()
    assert queued["item_id"] == "clinic/retire:mem-0001"
    assert why in queued["why"]
    assert world.workspace.registry().active().height == 1
    world.night()
    assert _proposals(world) == {"retire:mem-0001": "waiting"}


def test_a_retirement_names_the_decisions_that_still_say_the_same(world: World) -> None:
    """Two other sessions restate the memory, one took it back: the reviewer is told of one."""
    again = [row(1), note(2, "memory_promoted", "seq:1"), close(3)]
    world.session("clinic", "s2", *again)
    world.session("clinic", "s3", *again)
    world.night()
    assert world.workspace.registry().corroborations.height == 2
    world.session("clinic", "s3", *again, note(4, "decision_withdrawn", "seq:1"), close(5))
    _go_on(world, note(5, "decision_withdrawn", "seq:1"))
    (queued,) = read_queue(world.workspace.derived).filter(kind="retire").to_dicts()
    assert queued["why"].endswith("by seq:5; 1 other decision(s) in force say the same")


def test_an_accepted_retirement_is_published_once(world: World) -> None:
    """The next run takes it out of search; later runs ask for nothing again."""
    _go_on(world, note(5, "decision_withdrawn", "seq:1"))
    _decide(world, "accept")
    result = world.night().publish
    assert result.intents_applied == 1
    view = world.workspace.registry()
    assert view.active().is_empty()
    assert view.retirements.select("memory_id", "decided_by").rows() == [
        ("mem-0001", "reviewer anna")
    ]
    again = world.night().publish
    assert (again.published, again.refused_intents) == (False, ())
    assert _proposals(world) == {}
    assert world.workspace.proposals(now=world.now).refused == ()


def test_a_run_that_stops_after_asking_does_not_ask_twice(world: World) -> None:
    """The intent is on record; the next run finds it and adds none."""
    _go_on(world, note(5, "decision_withdrawn", "seq:1"))
    _decide(world, "accept")
    assert world.workspace.settle_proposals(now=world.now) == 1
    assert world.workspace.settle_proposals(now=world.now) == 0
    assert world.night().publish.intents_applied == 1
    assert len(read_intents(world.workspace.home).recorded) == 1


def test_a_declined_retirement_is_remembered(world: World) -> None:
    """The memory stays, and nobody is asked again unless the cause changes."""
    _go_on(world, note(5, "decision_withdrawn", "seq:1"))
    _decide(world, "decline")
    world.night()
    assert _proposals(world) == {"retire:mem-0001": "declined"}
    assert read_queue(world.workspace.derived).filter(kind="retire").is_empty()
    assert world.workspace.registry().active().height == 1


def test_a_ground_that_comes_back_ends_the_proposal(world: World) -> None:
    """A withdrawal that is withdrawn itself leaves nothing to decide."""
    _go_on(world, note(5, "decision_withdrawn", "seq:1"))
    back = note(10, "decision_withdrawn", "seq:5")
    rows = [note(5, "decision_withdrawn", "seq:1"), close(9), back, close(11)]
    world.session("clinic", "s1", *BEFORE, *rows)
    world.night()
    assert _proposals(world) == {}


def test_lines_about_proposals_are_judged_like_all_others(world: World) -> None:
    """Another hash, an agent, and a proposal that never was: refused by name."""
    _go_on(world, note(5, "decision_withdrawn", "seq:1"))
    (proposal, _), *_ = world.workspace.proposals(now=world.now).proposals

    def line(**changes: Any) -> ProposalDecision:
        fields: dict[str, Any] = {
            "tenant_id": "clinic",
            "proposal": proposal.proposal_id,
            "verdict": "accept",
            "reviewer": "anna",
            "decided_at": world.now,
            "content_sha256": proposal.content_sha256,
        }
        return ProposalDecision(**fields | changes)

    bad = [
        line(content_sha256="0" * 64),
        line(reviewer="agent:x"),
        line(proposal="retire:mem-0404"),
        line(proposal="retire:everything"),
    ]
    append_review_decisions(world.workspace.home.review_decisions, bad)
    found = world.workspace.proposals(now=world.now)
    assert [r.code for r in found.refused] == [
        "changed-since",
        "not-a-reviewer",
        "unknown-item",
        "unknown-item",
    ]
    assert _proposals(world) == {"retire:mem-0001": "waiting"}


def test_an_erasure_takes_the_words_about_a_memory_with_it(world: World) -> None:
    """What a reviewer wrote beside a verdict on an erased memory is gone from the file, too."""
    _go_on(world, note(5, "decision_withdrawn", "seq:1"))
    desk = ReviewDesk(world.workspace, "anna", now=world.now)
    desk.decide([RETIRE], Verdict("defer", reason="Mr Rossi asked"))
    path = world.workspace.home.review_decisions
    assert b"Rossi" in path.read_bytes()
    gone = Remove(
        tenant_id="clinic",
        decided_by="reviewer anna",
        decided_at=world.now,
        memory_ids=("mem-0001",),
        removal="erasure",
    )
    append_intents(world.workspace.home, [gone])
    world.night()
    assert b"Rossi" not in path.read_bytes()
