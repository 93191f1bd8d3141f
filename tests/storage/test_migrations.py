"""Homes of older versions: told, brought forward step by step, and refused until then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memory_assets.errors import CorruptStore, SchemaTooNew, SchemaTooOld
from memory_assets.storage.generations import SCHEMA_VERSION
from memory_assets.storage.home import Home
from memory_assets.storage.migrations import (
    MIGRATIONS,
    Migration,
    migrate,
    plan_migration,
    refuse_older,
)
from tests.nights import tree


def _noted(word: str) -> Any:
    def apply(home: Home, body: dict[str, Any]) -> dict[str, Any]:
        (home.root / f"{word}.txt").write_text(word)
        return {**body, "words": [*body.get("words", []), word]}

    return apply


STEPS = (Migration(1, "adds one", _noted("one")), Migration(2, "adds two", _noted("two")))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home from before the first version, with something that must be kept."""
    found = Home(tmp_path)
    _write(found, 0)
    return found


def _write(home: Home, version: int) -> None:
    home.current.write_text(json.dumps({"schema_version": version, "generation": 0, "kept": True}))


def _current(home: Home) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(home.current.read_text())
    return body


def test_a_dry_run_tells_every_step_and_writes_nothing(home: Home) -> None:
    """Not a byte of the home differs afterwards."""
    before = tree(home.root)
    plan = plan_migration(home, STEPS)
    assert [step.meaning for step in plan.steps] == ["adds one", "adds two"]
    assert not plan.to_dict()["applied"]
    assert tree(home.root) == before


def test_all_steps_are_done_in_order_and_the_rest_is_kept(home: Home) -> None:
    """Afterwards CURRENT has the new version, and what it held before."""
    assert migrate(home, STEPS[::-1]).applied
    body = _current(home)
    assert (body["schema_version"], body["words"], body["kept"]) == (2, ["one", "two"], True)
    assert migrate(home, STEPS).steps == ()


def test_a_step_that_fails_leaves_the_ones_before_it(home: Home) -> None:
    """The next try begins where the last one stopped."""

    def fails(home: Home, body: dict[str, Any]) -> dict[str, Any]:
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        migrate(home, (STEPS[0], Migration(2, "fails", fails)))
    assert _current(home)["schema_version"] == 1
    assert [step.to for step in plan_migration(home, STEPS).steps] == [2]


def test_a_version_without_a_way_forward_is_said(home: Home) -> None:
    """A gap in the steps is not jumped over."""
    with pytest.raises(CorruptStore, match="No known step"):
        plan_migration(home, STEPS[1:])


def test_a_newer_home_is_refused(home: Home) -> None:
    """This version does not know what the newer one means."""
    _write(home, SCHEMA_VERSION + 1)
    with pytest.raises(SchemaTooNew, match="upgrade memory-assets"):
        plan_migration(home)


def test_nothing_is_published_to_an_older_home(home: Home) -> None:
    """Two forms in one home would be readable by neither version."""
    with pytest.raises(SchemaTooOld, match="migrate --dry-run"):
        refuse_older(home)
    _write(home, SCHEMA_VERSION)
    refuse_older(home)


def test_a_home_without_a_publication_needs_nothing(tmp_path: Path) -> None:
    """It is created in the form of this version."""
    assert plan_migration(Home(tmp_path)).steps == ()
    refuse_older(Home(tmp_path))


def test_the_steps_of_the_package_lead_to_its_own_version() -> None:
    """Whoever raises the schema version writes the step that leads there."""
    assert [m.to for m in MIGRATIONS] == list(range(2, SCHEMA_VERSION + 1))
