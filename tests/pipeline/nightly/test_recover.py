"""What a person runs when a message asks for it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from memory_assets.errors import MarkersOwed
from memory_assets.pipeline.nightly.recover import recover_markers, reindex, still_owed
from memory_assets.steps.promotion.markers import MarkersResult
from tests.building import close, row
from tests.nights import World


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    """An automatic tenant with one memory, whose marker is published and written."""
    world = World(tmp_path)
    world.tenants('[tenants.clinic]\nreview = "automatic"\n')
    world.session("clinic", "s", row(1), close(2))
    return world


def _companion(world: World) -> Path:
    return world.ledgers / "clinic" / "s.markers.jsonl"


def test_owed_markers_are_written_once(world: World) -> None:
    """A night that stopped before its markers: recover writes them, and again writes nothing."""
    world.workspace.ingest()
    world.workspace.decide()
    world.workspace.publish(run_id="stopped", now=world.now)
    assert not _companion(world).exists()
    assert recover_markers(world.workspace, now=world.now).written == 1
    written = _companion(world).read_bytes()
    assert recover_markers(world.workspace, now=world.now).owed == 0
    assert _companion(world).read_bytes() == written


def test_a_companion_that_cannot_be_written_is_an_error_with_a_way_out(world: World) -> None:
    """The session is named with the command to run; once the cause is mended nothing is owed."""
    world.workspace.ingest()
    world.workspace.decide()
    world.workspace.publish(run_id="r", now=world.now)
    _companion(world).mkdir()
    error = still_owed(world.workspace.mark(now=world.now))
    assert isinstance(error, MarkersOwed)
    assert "clinic/s" in error.what
    assert "recover" in error.remedy
    _companion(world).rmdir()
    assert recover_markers(world.workspace, now=world.now).written == 1


def test_nothing_owed_is_no_error() -> None:
    """Only failed sessions make an error, and it is the one that the result itself raises."""
    assert still_owed(MarkersResult(3, 3, 2)) is None
    failed = MarkersResult(3, 2, 2, (("clinic", "s", "disk full"),))
    error = still_owed(failed)
    assert error is not None
    assert "disk full" in error.what


def test_a_lost_index_is_built_again(world: World) -> None:
    """The same memories under the same ids, from the registry alone."""
    world.night()
    ids = world.workspace.registry().memories["memory_id"].to_list()
    shutil.rmtree(world.home / "index")
    found = reindex(world.workspace, now=world.now)
    assert found.published
    assert (found.new_memories, found.pending) == (0, 0)
    assert world.workspace.registry().memories["memory_id"].to_list() == ids
    assert not reindex(world.workspace, now=world.now).published
