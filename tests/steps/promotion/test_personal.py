"""Personal data in real nights: held for a person whatever the policy, covered until opened."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from memory_assets.cli.review_walk import Walk
from memory_assets.domain.visibility import Principal
from memory_assets.pipeline.review.decide import ReviewDesk, Verdict
from memory_assets.pipeline.review.promote import save_session
from memory_assets.pipeline.review.state import QueueFilter, ReviewState
from memory_assets.steps.promotion.personal import personal_report
from memory_assets.steps.review.items import ItemRef, SessionItems, parse_items
from tests.building import close, note, row
from tests.nights import World

IBAN = "IT60X0542811101000000123456"
SETTINGS = '[tenants.ws]\nreview = "automatic"\nclient_names = ["Mario Rossi"]\n'


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.tenants(SETTINGS)
    return world


def queue(world: World) -> list[dict[str, Any]]:
    """What waits, as a reviewer's list shows it."""
    state = ReviewState(world.workspace, now=world.now)
    return list(state.queue(Principal.local("ws"), QueueFilter("ws")).items)


def test_a_hit_waits_whatever_the_policy_says(world: World) -> None:
    """Neither the automatic policy nor a marker lets it through; the rest goes its way."""
    world.session(
        "ws",
        "s1",
        row(1, detail=f"paid from {IBAN}"),
        row(2, detail="Mario  Rossi prefers calls"),
        row(3, detail="no person here"),
        row(4, "memory_event", detail="write to a@example.com"),
        note(5, "memory_promoted", "seq:2"),
        close(6),
    )
    report = world.night()
    assert report.publish.new_memories == 1
    assert report.waiting == {"ws": 3}
    labels = {i["ref"]: i["label"] for i in queue(world)}
    assert labels == {
        "seq:1": "new; personal data: IBAN",
        "seq:2": "new; personal data: client name",
        "seq:4": "new; personal data: e-mail",
    }


def test_the_queue_is_covered_until_an_item_is_opened(world: World) -> None:
    """The list says the kind; the item itself, asked for by name, shows the text."""
    world.session("ws", "s1", row(1, detail=f"paid from {IBAN}", rationale="said Mario Rossi"))
    world.session("ws", "s1", row(1, detail=f"paid from {IBAN}", rationale="Mario Rossi"), close(2))
    world.night()
    (item,) = queue(world)
    assert (item["detail"], item["rationale"]) == ("paid from [IBAN]", "[client name]")
    assert item["masked"]
    state = ReviewState(world.workspace, now=world.now)
    opened = state.item(Principal.local("ws"), ItemRef("ws", "s1", 1))
    assert opened["detail"] == f"paid from {IBAN}"
    assert not opened["masked"]


def test_what_a_list_covers_is_not_accepted_from_it(world: World) -> None:
    """A range, a session or a checklist refuses it; the item named alone may be accepted."""
    world.session("ws", "s1", row(1, detail=f"paid from {IBAN}"), row(2, rationale=IBAN), close(3))
    world.night()
    desk = ReviewDesk(world.workspace, "anna", now=world.now)
    (alone,) = parse_items(["ws/s1/seq:1"])
    whole = SessionItems("ws", "s1")
    for named, verdict in (
        (whole, Verdict("accept")),
        (parse_items(["ws/s1/seq:1-2"])[0], Verdict("accept")),
        (alone, Verdict("accept", from_list=True)),
    ):
        done = desk.decide([named], verdict)
        assert done.recorded == ()
        assert {r.code for r in done.refused} == {"personal-data"}
        assert not any(IBAN in r.reason for r in done.refused)
    assert len(desk.decide([alone], Verdict("accept")).recorded) == 1
    assert desk.decide([whole], Verdict("decline")).refused == ()


def test_a_whole_session_is_not_promoted_unseen(world: World) -> None:
    """`promote` of a session leaves it to the reviewer; the decision named by its seq is saved."""
    world.session("ws", "s1", row(1, detail=f"paid from {IBAN}"), row(2, detail="a rule"), close(3))
    saved = save_session(world.workspace, "s1", reviewer="anna", now=world.now)
    assert [row["seq"] for row in saved.accepted] == [2]
    assert [(r.item_id, r.code) for r in saved.refused] == [("ws/s1/seq:1", "personal-data")]
    named = save_session(world.workspace, "s1", seq=1, reviewer="anna", now=world.now)
    assert [row["seq"] for row in named.accepted] == [1]


def test_a_walk_opens_before_it_accepts_or_edits(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is stored is the text itself, never the words that covered it."""
    world.session("ws", "s1", row(1, detail=f"paid from {IBAN}"), close(2))
    world.night()
    monkeypatch.setattr("sys.stdin", io.StringIO("another subject\n\n"))
    out = Console(file=io.StringIO(), width=200)
    keys = iter(["e", "e", "q"])
    Walk(world.workspace, "anna", queue(world), out, keys, lambda: world.now).go()
    (line,) = (d for _, d in world.workspace.review_log().decisions)
    assert line.edited is not None
    assert (line.edited.subject, line.edited.detail) == ("another subject", f"paid from {IBAN}")


def test_what_a_reviewer_accepts_is_published_and_counted(world: World) -> None:
    """A person may let it in; the registry's check then counts it without quoting it."""
    world.session("ws", "s1", row(1, detail=f"paid from {IBAN}"), row(2), close(3))
    world.night()
    world.review("ws", "s1", 1, "accept")
    assert world.night().publish.new_memories == 1
    names = world.workspace.client_names
    report = personal_report(world.workspace.registry().memories, names).to_dict()
    assert report["by_kind"] == {"IBAN": 1}
    assert (report["checked"], report["memories"]) == (2, 1)
    assert report["examples"] == ["ws/mem-0002"]
    assert IBAN not in str(report)
