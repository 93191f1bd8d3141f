"""The review holds alone: with the other four boundaries open, no schema choice is accepted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from memory_assets.domain.review import ReviewDecision
from memory_assets.domain.visibility import Principal
from memory_assets.pipeline.review.decide import ReviewDesk, Verdict
from memory_assets.pipeline.review.state import QueueFilter, ReviewState
from memory_assets.steps.review.items import ItemRef
from memory_assets.storage.review_log import append_lines
from tests.boundaries import opened
from tests.nights import World

SEQS = range(1, 8)


@pytest.fixture(name="world")
def _world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """One concept and six schema choices, read and replayed while nothing else guards."""
    opened.open_core_rule(monkeypatch)
    opened.open_preview(monkeypatch)
    opened.open_search(monkeypatch)
    opened.open_summary(monkeypatch)
    world = World(tmp_path)
    world.session("clinic", "s1", *opened.session(marked=False))
    world.workspace.ingest()
    world.workspace.decide()
    return world


def _by_hand(world: World, **changes: Any) -> None:
    """An accept of every row, written as a person with an editor would."""
    hashes = world.workspace.assess(now=world.now).routes
    for seq in SEQS:
        found = hashes.filter(decision_seq=seq)["content_sha256"].item()
        line = ReviewDecision(
            tenant_id="clinic",
            session_id="s1",
            decision_seq=seq,
            verdict="accept",
            reviewer="anna",
            decided_at=world.now,
            content_sha256=found,
            **changes,
        )
        append_lines(world.workspace.home.review_decisions, [msgspec.json.encode(line)])


def _queue(world: World) -> list[int]:
    state = ReviewState(world.workspace, now=world.now)
    found = state.queue(Principal.local("clinic"), QueueFilter("clinic"))
    return [item["decision_seq"] for item in found.items]


def test_the_queue_offers_the_concept_alone(world: World) -> None:
    """Whatever came so far, a reviewer is never shown a schema choice."""
    assert _queue(world) == [1]


def test_accepts_written_by_hand_are_refused_singly(world: World) -> None:
    """The applier takes the concept and refuses every other line by name."""
    _by_hand(world)
    found = world.workspace.assess(now=world.now)
    assert [a.row["decision_seq"] for a in found.accepted] == [1]
    assert [(r.line, r.code) for r in found.refused_reviews] == [
        (line, "not-offered") for line in range(2, 8)
    ]


def test_a_new_wording_cannot_smuggle_a_table(world: World) -> None:
    """An accept with an edit is filtered by what it would publish, too."""
    _by_hand(world, edited={"subject": "dim_time", "detail": "the calendar"})
    found = world.workspace.assess(now=world.now)
    assert found.accepted == ()
    assert {r.line: r.code for r in found.refused_reviews}[1] == "bad-edit"


def test_the_desk_records_the_concept_alone(world: World) -> None:
    """What the commands and the page call judges each item before a line is written."""
    desk = ReviewDesk(world.workspace, "anna", now=world.now)
    found = desk.decide([ItemRef("clinic", "s1", seq) for seq in SEQS], Verdict("accept"))
    assert [line.decision_seq for line in found.recorded if hasattr(line, "decision_seq")] == [1]
    assert {refused.code for refused in found.refused} == {"not-offered"}


def test_markers_and_policy_pass_the_same_filter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, world: World
) -> None:
    """A marker, or the automatic policy, accepts no more than a reviewer could."""
    world.session("clinic", "s2", *opened.session(marked=True))
    world.tenants('[tenants.clinic]\nreview = "automatic"\n')
    world.workspace.ingest()
    world.workspace.decide()
    found = world.workspace.assess(now=world.now)
    assert {a.row["decision_seq"] for a in found.accepted} == {1}


def test_the_other_boundaries_are_really_open(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the review, every choice would come through: it is the review that holds."""
    opened.open_review(monkeypatch)
    _by_hand(world)
    assert len(world.workspace.assess(now=world.now).accepted) == len(SEQS)
