"""Drift is found row by row and mended, an index is built anew, old generations are collected."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memory_assets.errors import UsageError
from memory_assets.pipeline.upkeep.upkeep import (
    collect_garbage,
    drift_of,
    kept_generations,
    rebuild_index,
    repair_index,
)
from memory_assets.storage.generations import PinnedSpace
from memory_assets.storage.index_files import manifests
from memory_assets.storage.index_pinned import table_path
from tests.building import close, row
from tests.nights import World

AUTOMATIC = "[tenants.bank]\nreview = 'automatic'\n"


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Eight published memories."""
    made = World(tmp_path)
    made.tenants(AUTOMATIC)
    made.session("bank", "s1", *(row(n) for n in range(1, 9)), close(9))
    made.night()
    return made


def serving(world: World) -> PinnedSpace:
    """The space that answers queries."""
    found = world.workspace.generations.current()[0].serving
    assert found is not None
    return found


def meddle(world: World) -> None:
    """Deletes five index rows and adds three orphans, as somebody with LanceDB at hand would."""
    import lancedb

    table = lancedb.connect(str(world.home / "index")).open_table(serving(world).table)
    table.delete("memory_id IN ('mem-0001','mem-0002','mem-0003','mem-0004','mem-0005')")
    rows = table.search().limit(3).to_arrow().to_pylist()
    for n, orphan in enumerate(rows):
        orphan.pop("_rowid", None)
        orphan |= {"memory_id": f"mem-900{n}", "row_key": f"bank/mem-900{n}"}
    table.add(rows)


def test_what_was_meddled_with_is_listed_and_mended(world: World) -> None:
    """Five missing rows and three orphans are named; one repair later there is no drift."""
    assert drift_of(world.workspace).clean
    meddle(world)
    served, newest = drift_of(world.workspace).spaces
    assert (served.clean, served.served, newest.served) == (True, True, False)
    assert newest.missing == tuple(f"bank/mem-000{n}" for n in range(1, 6))
    assert newest.orphans == tuple(f"bank/mem-900{n}" for n in range(3))
    assert newest.mend == "memory-assets repair-index"
    result = repair_index(world.workspace, now=world.now)
    assert result.after.clean
    assert not result.before.clean
    assert drift_of(world.workspace).spaces[0].rows == 8


def test_a_row_that_says_something_else_under_its_old_hash_is_found(world: World) -> None:
    """Words and privacy columns are compared, not the hash that came with them."""
    import lance

    table = lance.dataset(str(table_path(world.home / "index", serving(world).table)))
    table.update({"subject": "'other'"}, where="memory_id = 'mem-0002'")
    table.update({"client_id": "'c9'"}, where="memory_id = 'mem-0004'")
    served, newest = drift_of(world.workspace).spaces
    assert (served.clean, newest.stale) == (True, ("bank/mem-0002", "bank/mem-0004"))
    assert repair_index(world.workspace, now=world.now).after.clean


def test_served_rows_that_were_damaged_silently_are_built_anew(world: World) -> None:
    """Their hashes agree with the registry, so no publication would write them again by itself."""
    folder = table_path(world.home / "index", serving(world).table) / "data"
    for path in folder.glob("*.lance"):
        path.write_bytes(path.read_bytes().replace(b"definition 3", b"definition X"))
    (found,) = drift_of(world.workspace).spaces
    assert found.stale == ("bank/mem-0003",)
    assert "bank/mem-0003" in found.damage
    assert found.mend == f"memory-assets reindex --space {serving(world).space.space_id}"
    result = repair_index(world.workspace, now=world.now)
    assert (result.rebuilt, result.after.clean) == (True, True)


def test_the_next_night_mends_it_too(world: World) -> None:
    """Nobody has to notice: a night takes back what nobody published."""
    meddle(world)
    world.session("bank", "s2", row(1, subject="new", detail="new"), close(2))
    assert world.night().publish.generation == 2
    report = drift_of(world.workspace)
    assert (report.clean, report.memories, len(report.spaces)) == (True, 9, 1)


def _empty_manifest(table: Path) -> None:
    list(manifests(table).values())[-1].write_bytes(b"")


def _lost_data(table: Path) -> None:
    for path in (table / "data").iterdir():
        path.unlink()


@pytest.mark.parametrize("damage", [_empty_manifest, _lost_data])
def test_a_damaged_index_is_built_anew_beside_the_old_one(
    damage: Callable[[Path], None], world: World
) -> None:
    """The report names the damage and the command; the repair swaps a whole new table in."""
    old = serving(world)
    damage(table_path(world.home / "index", old.table))
    (found,) = drift_of(world.workspace).spaces
    assert found.damage
    assert found.mend == f"memory-assets reindex --space {old.space.space_id}"
    result = repair_index(world.workspace, now=world.now)
    assert (result.rebuilt, result.after.clean) == (True, True)
    assert serving(world).table != old.table
    assert world.night().publish.published is False


def test_a_space_is_rebuilt_whole_while_readers_keep_the_old_table(world: World) -> None:
    """A reader that holds the earlier generation goes on reading; the new one names a new table."""
    before = world.workspace.generations.snapshot()
    result = rebuild_index(world.workspace, serving(world).space.space_id, now=world.now)
    assert (result.published, result.generation, result.embedded) == (True, 2, 0)
    held = before.index()
    assert held is not None
    assert held.count_rows() == 8
    assert drift_of(world.workspace).clean


def test_only_a_space_that_is_served_can_be_rebuilt(world: World) -> None:
    """Another name is refused with the known ones."""
    with pytest.raises(UsageError) as raised:
        rebuild_index(world.workspace, "unknown", now=world.now)
    assert serving(world).space.space_id in raised.value.remedy


def test_generations_stay_by_count_and_age(world: World) -> None:
    """What is neither among the newest nor young goes, after a dry run that says so."""
    settings = "keep_generations = 2\nkeep_days = 0\n"
    for n in range(2, 6):
        world.session("bank", f"s{n}", row(1, subject=f"s{n}", detail=f"d{n}"), close(2))
        world.night()
    numbers = [g["generation"] for g in kept_generations(world.workspace)]
    assert numbers == [1, 2, 3, 4, 5]
    (world.home / "settings.toml").write_text(settings)
    world.__dict__.pop("workspace")
    plan = collect_garbage(world.workspace, now=world.now, dry_run=True)
    assert (plan.generations, plan.kept) == ((1, 2, 3), (4, 5))
    assert len(kept_generations(world.workspace)) == 5
    assert collect_garbage(world.workspace, now=world.now, dry_run=False) == plan
    assert [g["generation"] for g in kept_generations(world.workspace)] == [4, 5]
    assert drift_of(world.workspace).clean
    assert not collect_garbage(world.workspace, now=world.now, dry_run=False)
    tags = world.home / "index" / f"{serving(world).table}.lance" / "_refs" / "tags"
    assert sorted(p.stem for p in tags.iterdir()) == ["gen-00000004", "gen-00000005"]
