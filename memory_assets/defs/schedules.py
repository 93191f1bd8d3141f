"""Schedules whose time is a setting: off until somebody turns them on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

from memory_assets.errors import SettingsError

if TYPE_CHECKING:
    from dagster._core.definitions.unresolved_asset_job_definition import (
        UnresolvedAssetJobDefinition,
    )

    from memory_assets.settings import Settings


def schedule_of(
    settings: Settings,
    setting: str,
    *,
    name: str,
    job: UnresolvedAssetJobDefinition,
    description: str,
) -> dg.ScheduleDefinition:
    """The schedule of a job, at the time that a setting names, in the settings' time zone.

    Raises:
        SettingsError: there is no such time, such as the 31st of February.
    """
    cron = settings.text(setting)
    try:
        return dg.ScheduleDefinition(
            name=name,
            job=job,
            cron_schedule=cron,
            execution_timezone=settings.text("time_zone"),
            description=description,
        )
    except dg.DagsterInvalidDefinitionError as error:
        raise SettingsError(
            f"The settings are not valid: {setting} = {cron!r} ({settings.origins[setting]}) is no "
            "time at which a schedule can start.",
            remedy="write minute, hour, day of the month, month and day of the week, such as "
            "30 3 * * * for every day at 03:30.",
        ) from error
