"""What should never have been memory is found wherever it lies, and goes for good."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory_assets.pipeline.upkeep.legacy_cleanup import clean_up, plan_cleanup
from tests.building import close, note, row
from tests.legacy import BY, RECORDS, imported
from tests.nights import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    """An empty home."""
    made = World(tmp_path)
    made.ledgers.mkdir()
    return made


def test_the_cleanup_plan_counts_and_gives_reasons(world: World) -> None:
    """Nothing is removed by looking."""
    imported(world, RECORDS)
    plan = plan_cleanup(world.workspace)
    assert [(r.memory_id, r.code) for r in plan.records] == [
        ("mem-0002", "not-reusable"),
        ("mem-0003", "schema-name"),
    ]
    assert plan.reasons == {"not-reusable: table_promoted": 1, "schema-name: concept_clarified": 1}
    assert (plan.index_rows, plan.index_versions) == (0, 0)
    assert world.workspace.registry().memories.height == 4


def test_a_cleanup_removes_them_physically_and_for_good(world: World) -> None:
    """Earlier generations go too, with a receipt; neither import nor night brings it back."""
    imported(world, RECORDS)
    fresh = row(1, subject="New", detail="new")
    world.session("clinic", "s1", fresh, note(2, "memory_promoted", "seq:1"), close(3))
    world.night()
    plan = plan_cleanup(world.workspace)
    assert plan.generations == (1,)
    result = clean_up(world.workspace, plan, now=world.now, by=BY)
    ids = world.workspace.registry().memories["memory_id"].to_list()
    assert ids == ["mem-0001", "mem-0007", "mem-0008"]
    assert plan_cleanup(world.workspace).empty
    (receipt,) = (json.loads(p.read_bytes()) for p in result.receipts)
    assert receipt["counts"] == {"memories": 2, "not-reusable": 1, "schema-name": 1}
    words = (b"fact_cardioversione", b"calendar table")
    files = [p for p in world.home.rglob("*") if p.is_file()]
    assert not [p for p in files if any(w in p.read_bytes() for w in words)]
    again = imported(world, RECORDS)
    assert (again["records"], again["buried"]) == (0, 2)


def test_what_older_rules_let_in_is_found_in_the_index_too(world: World) -> None:
    """When a tenant adds a pattern, published memories that match it are listed and removable."""
    rows = [row(1, subject="stg_orders", detail="staging"), row(2, subject="Order", detail="o")]
    world.session(
        "clinic",
        "s1",
        *rows,
        note(3, "memory_promoted", "seq:1"),
        note(4, "memory_promoted", "seq:2"),
        close(5),
    )
    world.night()
    world.tenants("[tenants.clinic]\nschema_table_patterns = ['stg_*']\n")
    plan = plan_cleanup(world.workspace)
    assert [r.subject for r in plan.records] == ["stg_orders"]
    assert (plan.index_rows, plan.index_versions >= 1) == (1, True)
    clean_up(world.workspace, plan, now=world.now, by=BY)
    assert plan_cleanup(world.workspace).empty
    assert world.night().publish.new_memories == 0
