"""Findings about the machine, the settings and the model."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from memory_assets.pipeline.health import machine as doctor_machine
from memory_assets.pipeline.health.findings import Finding
from memory_assets.pipeline.workspace import Workspace
from tests.nights import World


def _named(findings: Iterable[Finding]) -> dict[str, Finding]:
    return {f.name: f for f in findings}


def test_packages_are_there_and_named() -> None:
    """The versions that the pipeline runs on are in the report."""
    found = _named(doctor_machine.environment(None))
    assert found["packages"].level == "ok"
    assert all(f"{name} " in found["packages"].message for name in doctor_machine.PACKAGES)


def test_a_missing_package_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named with the command that installs it."""
    monkeypatch.setattr(doctor_machine, "PACKAGES", ("no-such-package",))
    found = _named(doctor_machine.environment(None))
    assert (found["packages"].level, found["packages"].mend) == (
        "error",
        "pip install no-such-package",
    )


@pytest.mark.parametrize(
    ("limit", "level"), [("LOW_DISK_BYTES", "warning"), ("NO_DISK_BYTES", "error")]
)
def test_a_full_disk_is_said_before_it_hurts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, level: str
) -> None:
    """Below one limit a warning, below the other an error; the home need not exist."""
    monkeypatch.setattr(doctor_machine, limit, 10**18)
    found = _named(doctor_machine.environment(tmp_path / "not" / "yet"))
    assert found["disk"].level == level


def _settings(world: World, **more: str | None) -> dict[str, Finding]:
    return _named(doctor_machine.settings(Workspace.load(**{**world.flags, **more}).settings))


def test_the_ledgers_folder_must_be_named_and_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not named, not there, or the home among its tenants: three errors; else well."""
    monkeypatch.delenv("MEMORY_ASSETS_LEDGERS", raising=False)
    world = World(tmp_path)
    assert _settings(world, ledgers=None)["ledgers"].level == "error"
    assert "does not exist" in _settings(world)["ledgers"].message
    world.ledgers.mkdir()
    assert _settings(world)["ledgers"].level == "ok"
    inside = _settings(world, home=str(world.ledgers / "home"))["ledgers"]
    assert (inside.level, "among the tenants" in inside.message) == ("error", True)


def test_weights_must_add_up(tmp_path: Path) -> None:
    """Scores that leave the range from 0 to 1 are warned of."""
    assert "weights" not in _settings(World(tmp_path))
    odd = _settings(World(tmp_path), weight_text="0.5")["weights"]
    assert (odd.level, "1.25" in odd.message) == ("warning", True)
