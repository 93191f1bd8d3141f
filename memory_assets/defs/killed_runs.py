"""Runs whose process is gone: they are ended, their pool slots freed.

A code server tells Dagster when one of its workers dies. But nobody tells when it dies itself, as
on a restart of the machine; nor when a night of the command line does. Such a run would stay
"started" and keep the publisher's slot, and every later night would wait for that slot. So each run
holds a lock file of its own, which the kernel lets go with the process.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from memory_assets.storage.home import Home
from memory_assets.storage.lock_state import left_behind
from memory_assets.storage.locks import exclusive

if TYPE_CHECKING:
    from dagster import DagsterInstance

NIGHT_TAG: Final = "memory_assets/command_line_night"
"""Tag of a night of the command line, which holds its lock from before its run is known."""


@contextmanager
def living_run(home: Home, run_id: str) -> Iterator[None]:
    """Holds a lock file of the run's own; the lock dies with the process."""
    path = home.run_lock(run_id)
    with exclusive(path, purpose="run"):
        try:
            yield
        finally:
            # Before the lock goes: a free lock whose file is still there is one of the dead.
            path.unlink(missing_ok=True)


def end_killed_runs(home: Home, instance: DagsterInstance) -> list[str]:
    """The ids of runs that were ended: runs of this home and host whose process is gone.

    They have failed, and their pool slots are free. What a killed run left of whose end Dagster
    knows already is swept away.
    """
    ended = []
    for run_id, path in home.run_locks().items():
        run = instance.get_run_by_id(run_id) if left_behind(path) else None
        if run is None:
            continue
        if not run.is_finished:
            instance.report_run_failed(run, "The process of this run was killed.")
            storage = instance.event_log_storage
            if storage.supports_global_concurrency_limits:
                storage.free_concurrency_slots_for_run(run_id)
            ended.append(run_id)
        path.unlink(missing_ok=True)
    return ended
