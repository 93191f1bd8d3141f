"""The summary of a session: from its files as they are now, approved first."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_assets.domain.visibility import Principal
from memory_assets.errors import AccessDenied, UnknownSessionError
from memory_assets.pipeline.inspect.summary import summarise
from tests.building import close, note, row
from tests.nights import World, tree


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    """Approved, declined, legacy-rejected, withdrawn-later and waiting rows, and a marked table."""
    world = World(tmp_path)
    world.session(
        "clinic",
        "s1",
        row(1, subject="Declined", detail="**no**"),
        row(2, subject="Approved", detail="uses `fact_x.flag`", rationale="see `dim_time`"),
        row(3, "table_promoted", subject="visits"),
        row(4, subject="visits", detail="a table in disguise"),
        row(5, subject="Gone", detail="withdrawn later"),
        row(6, subject="Legacy", detail="old word"),
        row(7, subject="Waiting", detail="no word yet"),
        row(8, subject="Of a client", detail="private", client_id="c9"),
        note(10, "memory_promotion_declined", "seq:1"),
        note(11, "memory_promoted", "seq:2"),
        note(12, "memory_promoted", "seq:3"),
        note(13, "memory_promoted", "seq:4"),
        note(14, "memory_promoted", "seq:5"),
        note(15, "memory_rejected", "seq:6"),
        note(16, "memory_promoted", "seq:8"),
        note(17, "decision_withdrawn", "seq:5"),
        close(18),
    )
    return world


def test_markers_are_resolved_and_ordered(world: World) -> None:
    """Approved before declined, each with the words of the row that its marker names."""
    found = summarise(world.workspace, "s1")
    assert [(m["status"], m["ref"], m["marked_by"]) for m in found.memories] == [
        ("approved", "seq:2", "seq:11"),
        ("approved", "seq:5", "seq:14"),
        ("approved", "seq:8", "seq:16"),
        ("declined", "seq:1", "seq:10"),
        ("declined", "seq:6", "seq:15"),
    ]
    first, gone, *_ = found.memories
    assert (first["detail"], first["rationale"]) == ("uses `fact_x.flag`", "see `dim_time`")
    assert (gone["in_force"], gone["ended_by"]) == (False, "seq:17")
    assert found.waiting == 1


def test_what_is_no_memory_is_hidden_without_its_words(world: World) -> None:
    """A table that poses as a concept is named by its row alone."""
    hidden = summarise(world.workspace, "s1").hidden
    assert [(h["ref"], h["code"]) for h in hidden] == [("seq:4", "schema-name")]
    assert set(hidden[0]) == {"ref", "code", "reason"}


def test_it_follows_what_a_reviewer_decides_later(world: World) -> None:
    """After the night the companion's marker is resolved, with the id of the memory."""
    world.night()
    world.review("clinic", "s1", 7, "accept")
    world.night()
    found = {m["ref"]: m for m in summarise(world.workspace, "s1").memories}
    assert found["seq:7"]["status"] == "approved"
    assert found["seq:7"]["memory_id"].startswith("mem-")
    assert found["seq:2"]["memory_id"].startswith("mem-")  # accepted by the ledger's own marker
    assert found["seq:1"]["memory_id"] is None
    assert found["seq:7"]["marked_by"].startswith("m:")


def test_it_is_a_projection_and_writes_nothing(world: World) -> None:
    """Reading a summary leaves every file as it was."""
    before = tree(world.root)
    summarise(world.workspace, "s1")
    assert tree(world.root) == before


def test_it_shows_each_persona_its_own(world: World) -> None:
    """An adviser of another client does not see the private row; a client sees no summary."""
    advisor = Principal("clinic", "ADVISOR", "u1", frozenset({"c1"}))
    refs = {m["ref"] for m in summarise(world.workspace, "s1", principal=advisor).memories}
    assert "seq:8" not in refs
    assert "seq:2" in refs
    with pytest.raises(AccessDenied):
        summarise(world.workspace, "s1", principal=Principal("clinic", "CLIENT"))
    with pytest.raises(UnknownSessionError):
        summarise(world.workspace, "none")
