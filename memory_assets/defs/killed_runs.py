"""Nights of the command line whose process is gone: their runs are ended, their pool slots freed.

Where the daemon runs, its run monitoring does this. Without one, a killed night would stay
"started" for ever and keep the publisher's slot, and every later night would wait for that slot.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from memory_assets.errors import PublisherBusy
from memory_assets.storage.home import Home
from memory_assets.storage.locks import exclusive

if TYPE_CHECKING:
    from dagster import DagsterInstance

NIGHT_TAG: Final = "memory_assets/command_line_night"


def night_tags(home: Home) -> dict[str, str]:
    """Tags of a night of the command line: whose processes can be looked for here."""
    return {NIGHT_TAG: f"{socket.gethostname()}:{home.root.resolve()}"}


@contextmanager
def living_night(home: Home, run_id: str) -> Iterator[None]:
    """Holds a lock file of the night's own while it runs; it dies with the process."""
    path = home.night_lock(run_id)
    with exclusive(path, purpose="nightly run"):
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def end_killed_nights(home: Home, instance: DagsterInstance) -> list[str]:
    """The ids of runs that were ended: nights of this home and host whose process is gone."""
    import dagster as dg
    from dagster._core.storage.dagster_run import NOT_FINISHED_STATUSES

    wanted = dg.RunsFilter(tags=night_tags(home), statuses=list(NOT_FINISHED_STATUSES))
    ended = []
    for run in instance.get_runs(wanted):
        path = home.night_lock(run.run_id)
        try:
            with exclusive(path, purpose="looking for killed nights"):
                instance.report_run_failed(run, "The process of this night was killed.")
                storage = instance.event_log_storage
                if storage.supports_global_concurrency_limits:
                    storage.free_concurrency_slots_for_run(run.run_id)
                path.unlink(missing_ok=True)
        except PublisherBusy:
            continue
        ended.append(run.run_id)
    return ended
