"""Settings are checked before anything is done with them, and named when they cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_assets.errors import SettingsError
from memory_assets.settings import load_settings


@pytest.mark.parametrize(
    ("cron", "said"),
    [
        ("daily", "must have five fields, such as 30 3 * * *"),
        ("99 3 * * *", "has the minute 99, which must lie between 0 and 59"),
        ("0 3,24 * * *", "has the hour 24, which must lie between 0 and 23"),
        ("0 3 0 * *", "has the day of the month 0, which must lie between 1 and 31"),
        ("0 3 * 1-13 *", "has the month 13, which must lie between 1 and 12"),
        ("0 3 * * 8", "has the day of the week 8, which must lie between 0 and 7"),
    ],
)
def test_a_time_that_is_none_is_refused_with_its_variable(
    tmp_path: Path, cron: str, said: str
) -> None:
    """The message names the variable, the value, and the field that is wrong."""
    environment = {"MEMORY_ASSETS_HOME": str(tmp_path), "MEMORY_ASSETS_SCHEDULE": cron}
    with pytest.raises(SettingsError) as caught:
        load_settings(environment=environment)
    assert f"schedule = {cron!r} (variable MEMORY_ASSETS_SCHEDULE) {said}" in caught.value.what


@pytest.mark.parametrize(
    "cron",
    ["30 3 * * *", "*/15 * * * *", "0-30/70 22-2 * * *", "0 3 L * 5#2", "5,10 0 1 JAN mon-fri"],
)
def test_whatever_the_scheduler_knows_is_let_through(tmp_path: Path, cron: str) -> None:
    """Names, steps, ranges and its own signs are none of the settings' business."""
    environment = {"MEMORY_ASSETS_HOME": str(tmp_path), "MEMORY_ASSETS_SCHEDULE": cron}
    assert load_settings(environment=environment).text("schedule") == cron
