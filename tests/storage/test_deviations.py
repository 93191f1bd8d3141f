"""Stopped tenants on disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory_assets.errors import CorruptStore
from memory_assets.storage.deviations import HISTORY, STOPPED, record_deviations, stopped_tenants


def history(folder: Path) -> list[str]:
    """Times of everything that was written down."""
    path = folder / HISTORY
    return (
        [json.loads(line)["at"] for line in path.read_text().splitlines()] if path.exists() else []
    )


def test_a_deviation_is_written_down_once_and_opens_and_closes(tmp_path: Path) -> None:
    """The same one again is no news; another tenant's check leaves it alone; passing ends it."""
    record_deviations(tmp_path, {"ws": {"name": "home", "at": "1"}}, ["ws"])
    record_deviations(tmp_path, {"ws": {"name": "home", "at": "2"}}, ["ws"])
    record_deviations(tmp_path, {}, ["az"])
    assert list(stopped_tenants(tmp_path)) == ["ws"]
    record_deviations(tmp_path, {"ws": {"name": "schema", "at": "3"}}, ["ws", "az"])
    record_deviations(tmp_path, {}, ["ws"])
    assert stopped_tenants(tmp_path) == {}
    assert history(tmp_path) == ["1", "3"]


def test_nothing_wrong_writes_nothing(tmp_path: Path) -> None:
    """A sound installation has no such folder."""
    record_deviations(tmp_path / "p", {}, ["ws"])
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize("damage", ["{", "[]"])
def test_a_damaged_list_lets_nobody_through(tmp_path: Path, damage: str) -> None:
    """Whether a tenant is stopped is never guessed."""
    (tmp_path / STOPPED).write_text(damage)
    with pytest.raises(CorruptStore):
        stopped_tenants(tmp_path)
