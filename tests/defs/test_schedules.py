"""Schedules of which the settings say when they start."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest

from memory_assets.defs.merge import merge_schedule
from memory_assets.defs.nightly import nightly_schedule
from memory_assets.defs.search import evaluation_schedule
from memory_assets.errors import SettingsError
from memory_assets.settings import Settings, load_settings

Make = Callable[[Settings], dg.ScheduleDefinition]
EACH = pytest.mark.parametrize(
    ("setting", "make"),
    [
        ("schedule", nightly_schedule),
        ("merge_schedule", merge_schedule),
        ("evaluation_schedule", evaluation_schedule),
    ],
)


def _settings(home: Path, **said: str) -> Settings:
    environment = {f"MEMORY_ASSETS_{name.upper()}": value for name, value in said.items()}
    return load_settings(environment={"MEMORY_ASSETS_HOME": str(home), **environment})


@EACH
def test_the_time_and_its_zone_are_settings(tmp_path: Path, setting: str, make: Make) -> None:
    """Off until somebody turns it on, and then at the time that is set, where the clock is set."""
    found = make(_settings(tmp_path, time_zone="Europe/Rome", **{setting: "15 4 * * mon"}))
    assert (found.cron_schedule, found.execution_timezone) == ("15 4 * * mon", "Europe/Rome")
    assert found.default_status is dg.DefaultScheduleStatus.STOPPED


@EACH
def test_a_time_that_never_comes_names_its_setting(
    tmp_path: Path, setting: str, make: Make
) -> None:
    """Not Dagster's own error, which knows neither the variable nor a remedy."""
    with pytest.raises(SettingsError) as caught:
        make(_settings(tmp_path, **{setting: "0 0 31 2 *"}))
    assert f"{setting} = '0 0 31 2 *' (variable MEMORY_ASSETS_" in caught.value.what
    assert "30 3 * * *" in caught.value.remedy
