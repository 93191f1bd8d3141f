"""Runs whose process is gone: they are ended, their pool slots freed.

A code server tells Dagster when one of its workers dies. But nobody tells when it dies itself, as
on a restart of the machine; nor when a night of the command line does. Such a run would stay
"started" and keep the publisher's slot, and every later night would wait for that slot. So each run
holds a lock file of its own, which the kernel lets go with the process.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from memory_assets.errors import PublisherBusy
from memory_assets.storage.home import Home
from memory_assets.storage.locks import exclusive, left_behind

if TYPE_CHECKING:
    from dagster import DagsterInstance, DagsterRun

NIGHT_TAG: Final = "memory_assets/command_line_night"


def night_tags(home: Home) -> dict[str, str]:
    """Tags of a night of the command line: whose processes can be looked for here."""
    return {NIGHT_TAG: f"{socket.gethostname()}:{home.root.resolve()}"}


@contextmanager
def living_run(home: Home, run_id: str) -> Iterator[None]:
    """Holds a lock file of the run's own; the lock dies with the process."""
    path = home.run_lock(run_id)
    with exclusive(path, purpose="run"):
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
        try:
            with exclusive(home.run_lock(run.run_id), purpose="looking for killed nights"):
                end_run(home, instance, run)
        except PublisherBusy:
            continue
        ended.append(run.run_id)
    return ended


def lost_runs(home: Home, instance: DagsterInstance) -> dict[str, DagsterRun]:
    """Runs by id that Dagster takes for unfinished, and whose process on this host is gone.

    A run that ends well lets its lock go a moment before it says so: only who is still here at a
    second look is lost. What a killed run left, whose end Dagster knows of, is swept away.
    """
    lost = {}
    for run_id, path in home.run_locks().items():
        run = instance.get_run_by_id(run_id) if left_behind(path) else None
        if run is None:
            continue
        if run.is_finished:
            path.unlink(missing_ok=True)
        else:
            lost[run.run_id] = run
    return lost


def end_run(home: Home, instance: DagsterInstance, run: DagsterRun) -> None:
    """The run has failed, its pool slots are free, its lock file is gone."""
    instance.report_run_failed(run, "The process of this run was killed.")
    storage = instance.event_log_storage
    if storage.supports_global_concurrency_limits:
        storage.free_concurrency_slots_for_run(run.run_id)
    home.run_lock(run.run_id).unlink(missing_ok=True)
