"""Generations, drift, garbage and backups as commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_assets.errors import UnknownGeneration
from memory_assets.storage.index_files import manifests
from tests.building import close, row
from tests.cli.conftest import Cli
from tests.nights import World


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    """Two generations of a bank."""
    world = World(tmp_path)
    world.tenants('[tenants.bank]\nreview = "automatic"\n')
    for name in ("Churn", "Margin"):
        world.session("bank", name.lower(), row(1, subject=name), close(2))
        world.night()
    return world


@pytest.fixture(name="cli")
def _cli(world: World) -> Cli:
    """Commands on that home."""
    return Cli(world.home, world.ledgers)


def test_generations_and_their_difference(cli: Cli) -> None:
    """Both are listed with run and time; the second added one memory."""
    listed = cli("generations", "--nl").lines()
    assert [(g["generation"], g["active"], g["current"]) for g in listed] == [
        (1, 1, False),
        (2, 2, True),
    ]
    found = cli("diff", "1", "2", "--tenant", "bank", "--json").json()
    assert [r["subject"] for r in found["added"]] == ["Margin"]
    assert "added (1)" in cli("diff", "1", "2", "--tenant", "bank").out
    assert "say the same" in cli("diff", "2", "2", "--tenant", "bank").out


def test_every_reading_command_takes_as_of(cli: Cli) -> None:
    """List, show, history and search answer as of generation 1; one ahead is a named error."""
    at = ("--tenant", "bank", "--as-of", "1", "--json")
    assert [m["subject"] for m in cli("registry", "list", *at).json()["memories"]] == ["Churn"]
    assert cli("registry", "show", "mem-0001", *at).json()["generation"] == 1
    assert cli("registry", "show", "mem-0002", *at).json()["error"] == "unknown-memory"
    assert cli("history", "mem-0001", *at).json()["memory"]["subject"] == "Churn"
    assert [h["memory_id"] for h in cli("search", "churn margin", *at).json()] == ["mem-0001"]
    for command in (["registry", "list"], ["search", "churn"], ["history", "mem-0001"]):
        done = cli(*command, "--tenant", "bank", "--as-of", "9", "--json")
        assert done.code == UnknownGeneration.exit_code
        assert done.json()["error"] == "unknown-generation"


def test_drift_is_shown_and_repaired(cli: Cli, world: World) -> None:
    """A damaged index: exit code 1 with the command that mends it, then 0."""
    assert cli("doctor", "--drift").code == 0
    table = next((world.home / "index").glob("*.lance"))
    list(manifests(table).values())[-1].write_bytes(b"")
    done = cli("doctor", "--drift")
    assert done.code == 1
    assert "-> memory-assets reindex --space" in done.out
    space = cli("doctor", "--drift", "--json").json()["spaces"][0]["space_id"]
    rebuilt = cli("reindex", "--space", space)
    assert "Generation 3 published: 2 memories." in rebuilt.out
    assert cli("doctor", "--drift", "--json").json()["clean"] is True
    assert "Nothing had drifted." in cli("repair-index").out
    assert cli("reindex", "--space", "other", "--json").json()["error"] == "usage"


@pytest.mark.parametrize("where", ["data/*", "_versions/*"])
def test_an_index_that_cannot_be_read_is_mended_by_the_command_that_the_error_names(
    cli: Cli, world: World, where: str
) -> None:
    """Doctor and the night name the same command, and it helps."""
    table = next((world.home / "index").glob("*.lance"))
    for path in table.glob(where):
        path.write_bytes(b"damaged" * 99)
    failed = cli("nightly", "--json").json()
    assert failed["error"] == "corrupt-store"
    assert "`memory-assets repair-index`" in failed["remedy"]
    found = cli("doctor", "--json").json()["findings"]
    (mend,) = [f["mend"] for f in found if (f["area"], f["name"]) == ("storage", "index")]
    assert mend == "memory-assets repair-index"
    assert "The index was built anew." in cli("repair-index").out
    assert cli("doctor", "--drift").code == 0
    assert cli("nightly").code == 0


def test_repair_puts_a_drifted_index_right(cli: Cli, world: World) -> None:
    """What was deleted by hand is named and written again."""
    import lancedb

    name = next((world.home / "index").glob("*.lance")).stem
    lancedb.connect(str(world.home / "index")).open_table(name).delete("memory_id = 'mem-0001'")
    assert "missing (1): bank/mem-0001" in cli("doctor", "--drift").out
    assert "The index was put right." in cli("repair-index").out
    assert cli("doctor", "--drift").code == 0


def test_garbage_is_shown_before_it_is_removed(cli: Cli, world: World) -> None:
    """A dry run changes nothing."""
    (world.home / "settings.toml").write_text("keep_generations = 1\nkeep_days = 0\n")
    assert "Generations would be removed: 1" in cli("gc", "--dry-run").out
    assert len(cli("generations", "--json").json()) == 2
    assert cli("gc", "--json").json()["generations"] == [1]
    assert len(cli("generations", "--json").json()) == 1


def test_a_backup_is_restored_into_an_empty_home(cli: Cli, world: World, tmp_path: Path) -> None:
    """The restored home answers like the first; a home in use is refused."""
    copy, other = tmp_path / "copy", Cli(tmp_path / "other", world.ledgers)
    assert "Backed up: generation 2" in cli("backup", str(copy)).out
    assert cli("restore", str(copy)).code == 2
    assert other("restore", str(copy), "--json").json()["generation"] == 2
    listed = ("registry", "list", "--tenant", "bank", "--json")
    assert other(*listed).json() == cli(*listed).json()
