"""The review desk: what it records, what it refuses, undo, and who may decide what."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_assets.domain.review import Edit, ReviewVerdict
from memory_assets.domain.visibility import Principal
from memory_assets.errors import AccessDenied, UsageError
from memory_assets.pipeline.review.decide import ReviewDesk, Verdict, line_item
from memory_assets.steps.review.items import (
    ItemRange,
    ItemRef,
    ProposalRef,
    SessionItems,
    parse_items,
)
from tests.building import close, note, row
from tests.nights import World


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    """Three candidates, one of them a single client's, and one declined in the session."""
    world = World(tmp_path)
    world.session(
        "clinic",
        "s1",
        row(1),
        row(2),
        row(3, client_id="c9"),
        row(4),
        note(5, "memory_promotion_declined", "seq:4"),
        close(6),
    )
    world.night()
    return world


def _desk(world: World, reviewer: str = "anna", principal: Principal | None = None) -> ReviewDesk:
    return ReviewDesk(world.workspace, reviewer, now=world.now, principal=principal)


def _route(world: World, seq: int) -> str:
    rows = world.workspace.assess(now=world.now).routes
    return str(rows.filter(session_id="s1", decision_seq=seq)["route"].item())


def test_ranges_and_whole_sessions_take_what_waits(world: World) -> None:
    """A range names rows that wait; the declined one and rows of other types are passed over."""
    done = _desk(world).decide(parse_items(["clinic/s1/seq:1-2"]), Verdict("accept"))
    routes = [_route(world, n) for n in (1, 2, 3, 4)]
    assert routes == ["accepted", "accepted", "review", "declined"]
    assert done.refused == ()
    rest = _desk(world).decide([SessionItems("clinic", "s1")], Verdict("defer"))
    assert [line_item(line) for line in rest.recorded] == ["clinic/s1/seq:3"]


def test_an_old_decline_is_reversed_by_naming_it(world: World) -> None:
    """What was declined in the session itself becomes a memory once a reviewer says so."""
    done = _desk(world).decide([ItemRef("clinic", "s1", 4)], Verdict("accept"))
    assert len(done.recorded) == 1
    world.night()
    assert world.workspace.registry().memories["decision_seq"].to_list() == [4]
    assert world.workspace.assess(now=world.now).routes.filter(decision_seq=4)[
        "verdict"
    ].to_list() == ["promoted"]


def test_an_item_that_changed_since_it_was_seen_is_refused(world: World) -> None:
    """The hash of what a page showed is compared before a line is written."""
    verdict = Verdict("accept", seen={"clinic/s1/seq:1": "0" * 64})
    done = _desk(world).decide([ItemRef("clinic", "s1", 1), ItemRef("clinic", "s1", 2)], verdict)
    assert [(r.item_id, r.code) for r in done.refused] == [("clinic/s1/seq:1", "changed-since")]
    assert [line_item(line) for line in done.recorded] == ["clinic/s1/seq:2"]


@pytest.mark.parametrize("first", ["accept", "decline"])
def test_a_word_of_somebody_else_is_not_replaced_unseen(world: World, first: ReviewVerdict) -> None:
    """What one page shows as waiting is decided on another: the second verdict is refused."""
    item, name = ItemRef("clinic", "s1", 1), "clinic/s1/seq:1"
    opened = Verdict("accept", said={name: ""})
    _desk(world, "luca").decide([item], Verdict(first))
    (refused,) = _desk(world).decide([item], opened).refused
    assert (refused.item_id, refused.code) == (name, "decided-since")
    assert f"luca {first}" in refused.reason
    assert _route(world, 1) == ("accepted" if first == "accept" else "declined")
    when = _desk(world).state.item(Principal.local("clinic"), item)["reviewed_at"]
    done = _desk(world).decide([item], Verdict("decline", said={name: when}))
    assert (len(done.recorded), done.notes) == (1, ())


def test_whoever_names_an_item_is_told_whose_word_is_replaced(world: World) -> None:
    """A command shows nothing first, so it says what it replaced; the own word is no news."""
    item = ItemRef("clinic", "s1", 1)
    _desk(world, "luca").decide([item], Verdict("decline"))
    (note,) = _desk(world).decide([item], Verdict("accept")).notes
    assert "luca declined it" in note
    assert _desk(world).decide([item], Verdict("accept")).notes == ()


@pytest.mark.parametrize("name", ["agent:planner", "AGENT: x", "", "  ", "policy", "bot", "\u200b"])
def test_only_people_review(world: World, name: str) -> None:
    """Agents, rules and nobody at all are turned away before anything is read."""
    with pytest.raises(AccessDenied):
        _desk(world, name)
    assert not world.workspace.home.review_decisions.exists()


def test_undo_takes_back_the_own_last_verdict(world: World) -> None:
    """Not somebody else's; and after publication there is nothing to take back."""
    _desk(world, "anna").decide([ItemRef("clinic", "s1", 1)], Verdict("accept"))
    _desk(world, "marco").decide([ItemRef("clinic", "s1", 2)], Verdict("decline"))
    _desk(world, "anna").undo()
    assert (_route(world, 1), _route(world, 2)) == ("review", "declined")
    with pytest.raises(UsageError, match="no verdict to take back"):
        _desk(world, "anna").undo()
    _desk(world, "anna").decide([ItemRef("clinic", "s1", 1)], Verdict("accept"))
    world.night()
    assert [r.code for r in _desk(world, "anna").undo().refused] == ["already-published"]


def test_verdicts_of_one_instant_follow_each_other(world: World) -> None:
    """Two verdicts in one tick of the clock: the one given later counts, none contradicts."""
    verdicts: list[ReviewVerdict] = ["accept", "decline", "accept"]
    for kind in verdicts:
        _desk(world).decide([ItemRef("clinic", "s1", 1)], Verdict(kind))
    assert _route(world, 1) == "accepted"
    assert world.workspace.assess(now=world.now).refused_reviews == ()


def test_an_edit_is_for_one_item_and_keeps_the_original(world: World) -> None:
    """The memory has the new words, and the old ones beside them."""
    edit = Edit("Ablation", "By catheter only", "")
    with pytest.raises(UsageError, match="several"):
        _desk(world).decide([SessionItems("clinic", "s1")], Verdict("accept", edited=edit))
    _desk(world).decide([ItemRef("clinic", "s1", 1)], Verdict("accept", edited=edit))
    world.night()
    (memory,) = world.workspace.registry().memories.to_dicts()
    assert (memory["subject"], memory["origin"]) == ("Ablation", "edited")
    assert "concept 1" in memory["edited_from"]


def test_an_advisor_decides_on_own_clients_alone(world: World) -> None:
    """What a persona may not see does not exist for it, and other tenants are denied."""
    other = Principal("clinic", "ADVISOR", "u1", frozenset({"c1"}))
    done = _desk(world, principal=other).decide([ItemRef("clinic", "s1", 3)], Verdict("accept"))
    assert [r.code for r in done.refused] == ["unknown-item"]
    own = Principal("clinic", "ADVISOR", "u1", frozenset({"c9"}))
    done = _desk(world, principal=own).decide([ItemRef("clinic", "s1", 3)], Verdict("accept"))
    assert len(done.recorded) == 1
    with pytest.raises(AccessDenied):
        _desk(world, principal=own).decide([ItemRef("bank", "s1", 1)], Verdict("accept"))


def test_names_of_items() -> None:
    """Ids, ranges, companion rows, facts and proposals, with and without their place."""
    assert parse_items(["clinic/s1/seq:3", "clinic/s1/m:2", "clinic/s1/seq:4#2"]) == [
        ItemRef("clinic", "s1", 3),
        ItemRef("clinic", "s1", -2),
        ItemRef("clinic", "s1", 4, 2),
    ]
    assert parse_items(["3,5-7"], tenant_id="clinic", session_id="s1") == [
        ItemRef("clinic", "s1", 3),
        ItemRange("clinic", "s1", 5, 7),
    ]
    assert parse_items(["s1/seq:3"], tenant_id="clinic") == [ItemRef("clinic", "s1", 3)]
    assert parse_items(["clinic/retire:mem-0003"]) == [ProposalRef("clinic", "retire:mem-0003")]
    assert parse_items(["retire:mem-0003"], tenant_id="t") == [ProposalRef("t", "retire:mem-0003")]
    assert [str(i) for i in parse_items(["clinic/s1/m:2", "clinic/s1/seq:3-7"])] == [
        "clinic/s1/m:2",
        "clinic/s1/seq:3-7",
    ]


@pytest.mark.parametrize("text", ["", "x", "seq:3", "clinic/s1/", "clinic/s1/seq:0", "a/b/c/seq:1"])
def test_what_names_no_item(text: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(UsageError):
        parse_items([text])
