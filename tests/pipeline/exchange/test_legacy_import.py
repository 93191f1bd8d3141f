"""A source registry comes in with its ids, and goes out again."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_assets.domain.visibility import Principal
from memory_assets.errors import ImportRefused
from memory_assets.pipeline.exchange.legacy_import import exported_rows
from memory_assets.steps.search.types import SearchRequest
from tests.building import close, note, row
from tests.legacy import RECORDS, imported, record
from tests.nights import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    """An empty home."""
    made = World(tmp_path)
    made.ledgers.mkdir()
    return made


def found(world: World, query: str) -> list[str]:
    """What a search of the tenant finds."""
    request = SearchRequest(query, Principal.local("clinic"), world.now, k=50)
    return sorted(hit.memory_id for hit in world.workspace.search(request).hits)


def test_ids_times_and_keys_are_kept(world: World) -> None:
    """Concepts are searchable at once; schema choices are on record, and no search finds them."""
    plan = imported(world, RECORDS)
    assert (plan["records"], plan["searchable"]) == (4, 2)
    view = world.workspace.registry()
    shown = view.status().select("memory_id", "status", "origin", "session_id", "decision_seq")
    assert shown.rows() == [
        ("mem-0001", "active", "imported", "old-1", 3),
        ("mem-0002", "retired", "imported", "old-2", 3),
        ("mem-0003", "retired", "imported", "old-3", 3),
        ("mem-0007", "active", "imported", "old-7", 3),
    ]
    assert view.memories["metadata"].to_list()[-1] == '{"confidence": 0.9}'
    assert found(world, "dim_time calendar concept") == ["mem-0001", "mem-0007"]


def test_new_memories_take_the_next_number(world: World) -> None:
    """The tenant's counter goes on after the highest imported id, in each tenant by itself."""
    imported(world, RECORDS)
    for tenant in ("clinic", "bank"):
        fresh = row(1, subject="New", detail="new")
        world.session(tenant, "s1", fresh, note(2, "memory_promoted", "seq:1"), close(3))
    world.night()
    ids = world.workspace.registry().memories.select("tenant_id", "memory_id").rows()
    assert ("clinic", "mem-0008") in ids
    assert ("bank", "mem-0001") in ids


def test_an_imported_decision_is_not_promoted_again(world: World) -> None:
    """Its promotion key is settled, although the ledger it came from is there too."""
    imported(world, RECORDS)
    rows = [row(3, subject="Concept 1", detail="definition 1")]
    world.session("clinic", "old-1", *rows, note(4, "memory_promoted", "seq:3"), close(5))
    report = world.night()
    assert (report.publish.new_memories, report.publish.corroborated) == (0, 0)


def test_importing_twice_is_importing_once(world: World) -> None:
    """The second time every record is known, and nothing is published."""
    imported(world, RECORDS)
    again = imported(world, RECORDS)
    assert (again["records"], again["known_already"]) == (0, 4)
    assert world.workspace.generations.current()[0].number == 1


def test_an_import_after_the_first_promotion_is_refused(world: World) -> None:
    """Ids of the tenant's own could mean something else there."""
    world.session("clinic", "s1", row(1), note(2, "memory_promoted", "seq:1"), close(3))
    world.night()
    with pytest.raises(ImportRefused, match="memories of its own"):
        imported(world, RECORDS)
    assert imported(world, RECORDS, tenant="other")["records"] == 4


def test_every_fault_of_a_file_is_named(world: World) -> None:
    """Lines with a bad id, a bad time, a taken id and a wrong type come in one message."""
    faulty = [
        record(1),
        record(1),
        record(2, id="memory-2"),
        record(3, ts="soon"),
        record(4, tables="fact_x"),
        record(5, type=None),
    ]
    with pytest.raises(ImportRefused) as raised:
        imported(world, faulty)
    for number in range(2, 7):
        assert f"line {number}:" in str(raised.value)
    assert world.workspace.generations.current()[0].number == 0


def test_an_export_can_be_imported_elsewhere(world: World, tmp_path: Path) -> None:
    """Ids, texts and keys survive the way out and in."""
    imported(world, [record(1), record(2)])
    rows = exported_rows(world.workspace, "clinic")
    other = World(tmp_path / "other")
    other.root.mkdir()
    other.ledgers.mkdir()
    imported(other, rows)
    assert exported_rows(other.workspace, "clinic") == rows
