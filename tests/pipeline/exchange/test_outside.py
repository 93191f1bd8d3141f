"""Memories of other systems on their way through the queue."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory_assets.errors import ImportRefused
from memory_assets.pipeline.exchange.outside import OutsidePlan, plan_outside, write_outside
from tests.nights import World

MEM0 = {
    "results": [
        {
            "id": "892db2ae",
            "memory": "Likes calls in the morning",
            "hash": "9f",
            "metadata": {"category": "habits"},
            "created_at": "2026-01-02T03:04:05-08:00",
            "updated_at": None,
            "user_id": "u1",
        },
        {"id": "1", "memory": "Works in Lugano", "categories": ["work"]},
    ]
}
MCP = (
    '{"type":"entity","name":"ablation","entityType":"idea","observations":["a procedure","x"]}\n'
    '{"type":"relation","from":"ablation","to":"ward","relationType":"done in"}\n'
)


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    return World(tmp_path)


def bring(world: World, system: str, content: str) -> OutsidePlan:
    """Imports a file; the plan that was carried out."""
    file = world.root / f"{system}.json"
    file.write_text(content, encoding="utf-8")
    plan = plan_outside(world.ledgers, file, system, tenant_id="ws", now=world.now)
    write_outside(world.ledgers, plan)
    return plan


def test_a_mem0_export_becomes_candidates(world: World) -> None:
    """Text, owner, time and provenance come through; a manual tenant reviews each."""
    plan = bring(world, "mem0", json.dumps(MEM0))
    assert plan.events == 2
    assert world.night().waiting == {"ws": 2}
    first, second = world.workspace.assess(now=world.now).candidates.to_dicts()
    assert (first["detail"], first["user_id"]) == ("Likes calls in the morning", "u1")
    assert first["decided_at"].isoformat() == "2026-01-02T11:04:05+00:00"
    metadata = json.loads(first["metadata"])
    assert metadata["category"] == "habits"
    assert metadata["imported"] == {"system": "mem0", "id": "892db2ae"}
    assert second["concepts"] == ["work"]
    assert world.workspace.registry().memories.is_empty()


def test_an_mcp_memory_becomes_candidates(world: World) -> None:
    """One per observation and per relation, under the entity's name."""
    bring(world, "mcp", MCP)
    world.night()
    rows = world.workspace.assess(now=world.now).candidates.select("subject", "detail").rows()
    assert rows == [
        ("ablation", "a procedure"),
        ("ablation", "x"),
        ("ablation", "ablation done in ward"),
    ]


def test_the_same_file_twice_changes_nothing(world: World) -> None:
    """Its session is named by its content; what was written is not written again."""
    first = bring(world, "mem0", json.dumps(MEM0))
    world.night()
    world.now = world.now.replace(hour=9)
    again = bring(world, "mem0", json.dumps(MEM0))
    assert (first.there, again.there) == (False, True)
    assert world.night().ingest.changed == 0


def test_what_is_left_out_is_named(world: World) -> None:
    """A graph repeats its memories, and an entity without an observation says nothing."""
    mem0 = bring(world, "mem0", json.dumps({**MEM0, "relations": [{"source": "a"}]}))
    assert mem0.left_out == ("1 relation(s) of the graph: each repeats a memory's words",)
    mcp = bring(world, "mcp", MCP + '{"type":"entity","name":"bare","observations":[]}\n')
    assert mcp.left_out == ("line 3: the entity has no observation",)
    assert bring(world, "mcp", "\ufeff" + MCP).left_out == ()


@pytest.mark.parametrize(
    ("system", "content", "said"),
    [
        ("mcp", MCP + "no json", "line 3 is not JSON"),
        ("mem0", '[{"memory": "x"}, {"memory": "y", "created_at": "?"}]', "result 2 has a time"),
    ],
)
def test_a_refusal_names_the_place(world: World, system: str, content: str, said: str) -> None:
    """The line or result of the file that must be mended."""
    with pytest.raises(ImportRefused, match=said):
        bring(world, system, content)


@pytest.mark.parametrize(
    ("system", "content"),
    [
        ("mem0", "no json"),
        ("mem0", '{"results": {}}'),
        ("mem0", '[{"id": 1}]'),
        ("mem0", '[{"memory": "x", "created_at": "yesterday"}]'),
        ("mem0", '[{"memory": "a\\u0000b"}]'),
        ("mem0", '[{"memory": "\\ud800"}]'),
        ("mcp", '{"type":"other"}'),
        ("mcp", '{"type":"entity","name":"x","observations":"y"}'),
        ("mcp", '{"type":"relation","from":"x"}'),
        ("mcp", "[1]"),
    ],
)
def test_anything_else_is_refused_whole(world: World, system: str, content: str) -> None:
    """No part of a file that is not understood comes in."""
    with pytest.raises(ImportRefused):
        bring(world, system, content)
    assert not world.ledgers.exists()
