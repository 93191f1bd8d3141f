"""Personal data in real nights: held for a person whatever the policy, covered until opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_assets.domain.visibility import Principal
from memory_assets.pipeline.review.state import QueueFilter, ReviewState
from memory_assets.steps.promotion.personal import personal_report
from memory_assets.steps.review.items import ItemRef
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
