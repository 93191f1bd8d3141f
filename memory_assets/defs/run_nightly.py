"""Runs the nightly job in this process, on the same Dagster instance that the UI shows."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from memory_assets.defs import stages
from memory_assets.defs.killed_runs import NIGHT_TAG, end_killed_runs, living_run
from memory_assets.errors import MemoryAssetsError
from memory_assets.storage.files import make_folder, write_atomically, write_failed

if TYPE_CHECKING:
    from dagster import DagsterInstance, ExecuteInProcessResult

    from memory_assets.pipeline.nightly.night import NightReport
    from memory_assets.pipeline.workspace import Workspace

_STAGE_OF_STEP: Final = {
    "tenant_preflight": "preflight",
    "ledger_events": "ingest",
    "effective_decisions": "decide",
    "extracted_facts": "extract",
    "candidate_memories": "candidates",
    "publication": "publish",
    "session_markers": "markers",
    "new_duplicates": "merge",
    "review_queue": "queue",
    "registry_views": "views",
    "night_metrics": "metrics",
    "tier_assignments": "tiers",
}

_ERRNO: Final = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_IOERR: errno.EIO,
    sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_CANTOPEN: errno.EACCES,
}
_LITTLE: Final = 1 << 20


def run_nightly(workspace: Workspace) -> NightReport:
    """What one night did: the job ``nightly_consolidation``, executed here and now.

    Raises:
        MemoryAssetsError: the named error of the step that stopped the night.
        StoreWriteFailed: Dagster's own records cannot be written.
    """
    from memory_assets.pipeline.nightly.night import NightReport

    run_id = str(uuid.uuid4())
    began = time.perf_counter()
    stages.announce(run_id)
    try:
        with (
            _records_errors(workspace.home.root),
            _instance(workspace.home.root) as instance,
            living_run(workspace.home, run_id),
        ):
            end_killed_runs(workspace.home, instance)
            result = _execute(workspace, instance, run_id)
    finally:
        parts = stages.collect(run_id)
    return NightReport.from_parts(
        ingest=parts["ingest"],
        decide=parts["decide"],
        publish=parts["publish"],
        markers=parts["markers"],
        seconds={**_step_seconds(result), "all": round(time.perf_counter() - began, 3)},
        extract=parts.get("extract"),
        merge=parts.get("merge"),
    )


def dagster_home(home: Path) -> Path:
    """The DAGSTER_HOME of a home folder, made ready; the environment's own one comes first."""
    named = os.environ.get("DAGSTER_HOME")
    folder = Path(named) if named else home / "dagster"
    config = folder / "dagster.yaml"
    if not config.exists():
        make_folder(folder)
        write_atomically(config, files("memory_assets.defs").joinpath("dagster.yaml").read_bytes())
    return folder


@contextmanager
def _records_errors(home: Path) -> Iterator[None]:
    """Turns what SQLite says of a full disk or a read-only folder into the error of any file."""
    from sqlalchemy.exc import OperationalError

    try:
        yield
    except OperationalError as error:
        cause = error.orig
        if not isinstance(cause, sqlite3.OperationalError):
            raise
        number = _ERRNO.get(getattr(cause, "sqlite_errorcode", 0) & 0xFF)
        if number is None:
            raise
        if number == errno.EIO and shutil.disk_usage(home).free < _LITTLE:
            number = errno.ENOSPC  # SQLite does not always tell them apart
        raise write_failed(dagster_home(home), OSError(number, str(cause))) from error


def _instance(home: Path) -> DagsterInstance:
    import dagster as dg

    return dg.DagsterInstance.from_config(str(dagster_home(home)))


def _execute(
    workspace: Workspace, instance: DagsterInstance, run_id: str
) -> ExecuteInProcessResult:
    import dagster as dg

    from memory_assets.defs.assemble import defs

    job = defs.resolve_job_def("nightly_consolidation")
    quiet: dict[str, Any] = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    try:
        return job.execute_in_process(
            instance=instance,
            run_id=run_id,
            tags={NIGHT_TAG: "true"},
            run_config={
                **quiet,
                "resources": {
                    "workspace": {
                        "config": {
                            "home": str(workspace.settings.home),
                            "ledgers": str(workspace.settings.ledgers),
                        }
                    }
                },
            },
        )
    except dg.DagsterExecutionInterruptedError:
        # Dagster's own kind of interrupt; the command line knows the one of the language.
        raise KeyboardInterrupt from None
    except dg.Failure as failure:
        cause = failure.__cause__
        if isinstance(cause, MemoryAssetsError):
            raise cause from None
        raise


def _step_seconds(result: ExecuteInProcessResult) -> dict[str, float]:
    """Seconds per stage, from the run's own events."""
    found = {}
    for event in result.all_node_events:
        if event.is_step_success and event.step_key in _STAGE_OF_STEP:
            took = event.step_success_data.duration_ms / 1000
            found[_STAGE_OF_STEP[event.step_key]] = round(took, 3)
    return found
