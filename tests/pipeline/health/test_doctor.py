"""A look at the whole installation, whatever state it is in."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_assets.pipeline.health.doctor import AREAS, DoctorReport, diagnose
from memory_assets.pipeline.workspace import Workspace
from memory_assets.settings import SETTINGS
from tests.building import close, note, row
from tests.nights import World, tree


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    """One published memory, nothing waiting, nothing owed."""
    world = World(tmp_path)
    world.tenants("[tenants.clinic]\n")
    world.session("clinic", "s", row(1), note(2, "memory_promoted", "seq:1"), close(3))
    return world


def _look(world: World, *, deep: bool = False) -> DoctorReport:
    return diagnose(lambda: Workspace.load(**world.flags), now=world.now, deep=deep)


def test_a_sound_installation_has_no_error_and_no_warning(world: World) -> None:
    """Every area was looked at and found well."""
    world.night()
    found = _look(world, deep=True)
    bad = [f for _, f in found.findings if f.level in ("error", "warning")]
    assert bad == []
    assert found.ok
    assert {area for area, _ in found.findings} == set(AREAS)


def test_nothing_is_written_even_before_the_first_night(tmp_path: Path) -> None:
    """Examining an installation that does not exist yet leaves it that way."""
    world = World(tmp_path)
    world.session("clinic", "s", row(1), close(2))
    before = tree(tmp_path)
    found = _look(world)
    assert tree(tmp_path) == before
    names = {f.name: f for _, f in found.findings}
    assert names["generation"].mend == "memory-assets nightly"


def test_settings_are_listed_with_their_origin(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flag, variable, file and default are told apart, for every setting there is."""
    monkeypatch.setenv("MEMORY_ASSETS_TIME_ZONE", "Europe/Rome")
    (world.home / "settings.toml").write_text("keep_generations = 9\n")
    rows = {row["name"]: row for row in _look(world).settings}
    assert list(rows) == [s.name for s in SETTINGS]
    assert rows["home"]["origin"] == "flag --home"
    assert rows["time_zone"]["origin"] == "variable MEMORY_ASSETS_TIME_ZONE"
    assert rows["keep_generations"]["origin"] == f"file {world.home / 'settings.toml'}"
    assert rows["schedule"]["origin"] == "default"


def test_settings_that_cannot_be_read_are_a_finding(world: World) -> None:
    """The report still comes, with the error of the settings in it."""
    (world.home / "settings.toml").write_text('time_zone = "Atlantis"\n')
    found = _look(world)
    assert not found.ok
    (error,) = [f for _, f in found.findings if f.level == "error"]
    assert (error.name, "Atlantis" in error.message) == ("settings-invalid", True)


def test_an_area_that_stops_does_not_stop_the_others(world: World) -> None:
    """A damaged CURRENT is one error, told where it belongs; the other areas report."""
    world.night()
    (world.home / "CURRENT").write_bytes(b"{}")
    found = _look(world)
    ((area, error),) = [(area, f) for area, f in found.findings if f.level == "error"]
    assert (area, error.name) == ("storage", "corrupt-store")
    assert found.counts()["error"] == 1
    stopped = {
        area for area, f in found.findings if f.message == "not examined further: see storage"
    }
    assert stopped == {"model", "drift"}
    assert "locks" in {area for area, _ in found.findings}


def test_a_line_that_cannot_be_read_is_told_once(world: World) -> None:
    """What is wrong with it is that it is no JSON, not that its candidate changed."""
    world.night()
    (world.home / "review").mkdir(exist_ok=True)
    (world.home / "review" / "decisions.jsonl").write_bytes(b"{oops\n")
    told = [(area, f) for area, f in _look(world).findings if f.name == "review-file"]
    ((area, finding),) = told
    assert (area, finding.mend.startswith("repair the line in")) == ("storage", True)


def test_every_finding_that_is_not_well_names_what_mends_it(world: World) -> None:
    """Whatever is broken: no error and no warning without a way out."""
    world.night()
    world.session("clinic", "s", close(1))
    world.session("bank", "s", row(1), close(2))
    world.session("clinic", "bad", b"{]", close(2))
    world.night()
    (world.home / "review").mkdir(exist_ok=True)
    (world.home / "review" / "decisions.jsonl").write_bytes(b"{}\n")
    found = _look(world)
    bad = {f.name: f for _, f in found.findings if f.level in ("error", "warning")}
    assert set(bad) >= {"append-only-violation", "unknown-tenant", "quarantine", "review-file"}
    assert all(f.mend for f in bad.values())
    assert found.to_dict()["counts"]["error"] == 1
