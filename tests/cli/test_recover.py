"""``recover`` and ``reindex`` as commands."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from memory_assets.errors import MarkersOwed
from tests.building import close, row
from tests.cli.conftest import Cli
from tests.nights import World


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    """A publication that stopped before its marker was written."""
    world = World(tmp_path)
    world.tenants('[tenants.clinic]\nreview = "automatic"\n')
    world.session("clinic", "s", row(1), close(2))
    world.workspace.ingest()
    world.workspace.decide()
    world.workspace.publish(run_id="stopped", now=world.now)
    return world


def test_recover_writes_what_is_owed(world: World) -> None:
    """The marker is written, and a second call has nothing to do."""
    cli = Cli(world.home, world.ledgers)
    assert cli("recover").out == "1 of 1 owed markers written.\n"
    assert cli("recover").out == "No marker is owed.\n"


def test_recover_that_fails_says_who_is_owed(world: World) -> None:
    """The result on stdout, the sessions on stderr, and the exit code of the named error."""
    (world.ledgers / "clinic" / "s.markers.jsonl").mkdir()
    done = Cli(world.home, world.ledgers)("recover", "--json")
    assert done.code == MarkersOwed.exit_code
    assert (done.json()["markers_owed"], done.json()["markers_written"]) == (1, 0)
    assert "markers-owed" in done.err
    assert "clinic/s" in done.err


def test_reindex_builds_a_lost_index(world: World) -> None:
    """A new generation when something was missing, none when all is well."""
    cli = Cli(world.home, world.ledgers)
    assert "Generation 1 stands" in cli("reindex").out
    shutil.rmtree(world.home / "index")
    assert "Generation 2 published: 1 memories." in cli("reindex").out
