"""Findings about the home folder, and about ledgers that moved apart from it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from memory_assets.errors import CorruptStore
from memory_assets.pipeline.health import home as doctor_home
from memory_assets.pipeline.health.findings import Finding
from memory_assets.storage.locks import exclusive
from tests.building import close, note, row
from tests.nights import World


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    """One published memory."""
    world = World(tmp_path)
    world.session("clinic", "s", row(1), note(2, "memory_promoted", "seq:1"), close(3))
    world.night()
    return world


def _storage(world: World) -> dict[str, Finding]:
    return {f.name: f for f in doctor_home.storage(world.workspace)}


def _drift(world: World) -> dict[str, Finding]:
    return {f.name: f for f in doctor_home.drift(world.workspace, now=world.now)}


def test_a_published_home_is_well(world: World) -> None:
    """Generation and index are named with their numbers."""
    found = _storage(world)
    assert {f.level for f in found.values()} == {"ok"}
    assert found["generation"].message.startswith("generation 1 of ")
    assert found["index"].message.startswith("1 rows")


def test_a_lost_index_is_an_error_that_reindex_mends(world: World) -> None:
    """The command that the finding names makes it go away."""
    shutil.rmtree(world.home / "index")
    found = _storage(world)["index"]
    assert (found.level, found.mend) == ("error", "memory-assets reindex")
    from memory_assets.pipeline.nightly.recover import reindex

    reindex(world.workspace, now=world.now)
    assert _storage(world)["index"].level == "ok"


def test_a_home_that_must_be_migrated_is_said_before_the_night(world: World) -> None:
    """The night would refuse it: doctor names the command, and looks at the rest all the same."""
    current = world.workspace.home.current
    current.write_text(current.read_text().replace('"schema_version": 1', '"schema_version": 0'))
    found = _storage(world)
    assert found["schema-too-old"].level == "error"
    assert "`memory-assets migrate --dry-run`" in found["schema-too-old"].mend
    assert found["index"].level == "ok"


def test_a_changed_part_stops_the_examination(world: World) -> None:
    """Published bytes that differ from their hash are never a matter of degree."""
    part = next((world.home / "registry" / "memories").glob("*.parquet"))
    part.write_bytes(part.read_bytes() + b" ")
    with pytest.raises(CorruptStore):
        _storage(world)


def test_a_damaged_log_and_an_older_manifest_are_found_before_the_night(world: World) -> None:
    """A night would stop at the one, and --as-of would fail at the other."""
    world.session("clinic", "t", row(1, subject="b"), note(2, "memory_promoted", "seq:1"), close(3))
    world.night()
    store = world.workspace.generations
    store.manifest_path(1).write_bytes(b"{")
    log = world.workspace.home.allocations
    log.write_bytes(log.read_bytes() + b"x{\n")
    found = _storage(world)
    assert found["older-generation"].level == "warning"
    assert "generation 1" in found["older-generation"].message
    assert (found["allocations"].level, found["index"].level) == ("error", "ok")
    assert "deleted" in found["allocations"].mend


def test_feedback_and_uses_that_cannot_be_read_are_found(world: World) -> None:
    """What agents and reviewers said is not passed over in silence: the files are named."""
    home = world.workspace.home
    home.feedback.parent.mkdir(exist_ok=True)
    home.feedback.write_text('{"given_by": ""}\n{"torn')
    log = home.access_log / "dt=2026-03-01" / "7.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text("garbage\n{}\n")
    found = _storage(world)
    assert found["feedback-file"].level == found["access-log"].level == "warning"
    assert found["feedback-file"].message.startswith("1 line(s)")
    assert "2 line(s)" in found["access-log"].message
    assert "line 1 of dt=2026-03-01/7.jsonl" in found["access-log"].message


def test_who_is_at_work_is_said(world: World) -> None:
    """A held lock is named with its purpose; a free one is not mentioned."""
    assert [f.name for f in doctor_home.locks(world.workspace.home)] == ["locks"]
    with exclusive(world.workspace.home.publisher_lock, purpose="publishing"):
        (found,) = doctor_home.locks(world.workspace.home)
    assert (found.name, "publishing, process" in found.message) == ("publisher.lock", True)


def _grow(world: World) -> None:
    world.session("clinic", "new", row(1), close(2))


def _poison(world: World) -> None:
    world.session("clinic", "bad", b"{]", close(2))
    world.night()


def _rewrite(world: World) -> None:
    world.session("clinic", "s", row(1, subject="changed"), close(2))
    world.night()


def _lose(world: World) -> None:
    (world.ledgers / "clinic" / "s.jsonl").unlink()
    world.night()


def _stranger(world: World) -> None:
    world.session("nord", "s", row(1), close(2))
    world.tenants("[tenants.clinic]\n")


def _oddly_named_stranger(world: World) -> None:
    world.session("ünï co", "s", row(1), close(2))
    world.tenants("[tenants.clinic]\n")


def _withdraw(world: World) -> None:
    path = world.ledgers / "clinic" / "s.jsonl"
    withdrawal = b'{"seq": 4, "ts": "2026-02-01T10:00:00Z", "type": "decision_withdrawn", '
    path.write_bytes(path.read_bytes() + withdrawal + b'"detail": "seq:1"}\n')
    world.night()


def _wait(world: World) -> None:
    _grow(world)
    world.night()


@pytest.mark.parametrize(
    ("trouble", "name", "level", "mend"),
    [
        (_grow, "ledgers", "info", "memory-assets nightly"),
        (_poison, "quarantine", "warning", "memory-assets quarantine list"),
        (_rewrite, "append-only-violation", "error", "restore the ledger"),
        (_lose, "missing", "warning", "restore the ledger"),
        (_stranger, "unknown-tenant", "warning", "add [tenants.nord]"),
        (_oddly_named_stranger, "unknown-tenant", "warning", 'add [tenants."ünï co"]'),
        (_withdraw, "ended-decisions", "info", "a reviewer decides"),
        (_wait, "review", "info", "memory-assets review list"),
    ],
)
def test_drift_is_found(
    world: World, trouble: Callable[[World], None], name: str, level: str, mend: str
) -> None:
    """Each way in which ledgers and tables move apart has its finding, level and way out."""
    assert _drift(world).keys() == {"ledgers"}
    trouble(world)
    found = _drift(world)[name]
    assert found.level == level
    assert found.mend.startswith(mend)


def test_owed_markers_are_found(tmp_path: Path) -> None:
    """A publication that stopped before its markers, until recover has run."""
    world = World(tmp_path)
    world.tenants('[tenants.clinic]\nreview = "automatic"\n')
    world.session("clinic", "s", row(1), close(2))
    world.workspace.ingest()
    world.workspace.decide()
    world.workspace.publish(run_id="stopped", now=world.now)
    assert _drift(world)["markers"].mend == "memory-assets recover"
    world.workspace.mark(now=world.now)
    assert "markers" not in _drift(world)


def test_a_verdict_on_something_else_is_found(world: World) -> None:
    """A review decision on a candidate that changed since is told with its line."""
    _wait(world)
    world.review("clinic", "new", 1, "accept")
    log = world.workspace.home.review_decisions
    text = log.read_text().replace('"content_sha256":"', '"content_sha256":"0')
    log.write_text(text)
    found = _drift(world)["review-file"]
    assert (found.level, "line 1" in found.message) == ("warning", True)


def test_disk_use_is_told_for_every_part_and_space(world: World) -> None:
    """The parts add up to the total, and each embedding space is named."""
    found = {f.name: f.message for f in doctor_home.disk(world.workspace.home)}
    sizes = {n: int(m.split("(")[1].split()[0].replace(",", "")) for n, m in found.items()}
    parts = {n: size for n, size in sizes.items() if n != "total" and "/" not in n}
    assert sum(parts.values()) == sizes["total"]
    assert {"registry", "index", "derived", "cache", "generations"} <= parts.keys()
    assert [n for n in sizes if n.startswith("index/")] != []
