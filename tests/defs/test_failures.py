"""Which errors make a step try again, and which end it at once."""

from __future__ import annotations

import threading
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.errors import DagsterExecutionInterruptedError

from memory_assets.defs import failures
from memory_assets.defs.assemble import defs
from memory_assets.defs.failures import as_failures
from memory_assets.defs.run_nightly import run_nightly
from memory_assets.errors import PublisherBusy
from memory_assets.pipeline.workspace import Workspace
from memory_assets.storage.locks import exclusive


def _night(instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    job = defs.resolve_job_def("nightly_consolidation")
    return job.execute_in_process(instance=instance, raise_on_error=False)


def _tries(result: dg.ExecuteInProcessResult, step: str) -> int:
    kinds = {dg.DagsterEventType.STEP_START, dg.DagsterEventType.STEP_RESTARTED}
    return sum(e.event_type in kinds and e.step_key == step for e in result.all_events)


def test_a_busy_publisher_is_waited_for(
    place: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A night that meets another publication tries again, and publishes."""
    monkeypatch.setattr(failures, "_FIRST_WAIT_SECONDS", 2.0)
    lock = Workspace.load().home.ensure().publisher_lock
    taken, ended = threading.Event(), threading.Event()

    def hold() -> None:
        with exclusive(lock, purpose="holding it for a test"):
            taken.set()
            ended.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    assert taken.wait(10)
    threading.Timer(3, ended.set).start()
    result = _night(instance)
    ended.set()
    holder.join()
    assert result.success
    assert _tries(result, "publication") > 1


def test_an_error_that_would_come_again_ends_the_step_at_once(
    place: Path, instance: dg.DagsterInstance
) -> None:
    """A damaged home is no better five seconds later."""
    Workspace.load().home.ensure()
    (place / "home" / "CURRENT").write_text("nonsense")
    result = _night(instance)
    assert not result.success
    assert _tries(result, "ledger_events") == 1


def test_a_step_of_a_run_that_was_told_to_stop_does_not_begin(
    instance: dg.DagsterInstance,
) -> None:
    """Terminate in the UI holds at the next step, even where the interrupt itself was lost."""
    begun = []

    @dg.asset
    def before() -> None:
        context = dg.AssetExecutionContext.get()
        with as_failures(context):
            begun.append("before")
        context.instance.report_run_canceling(context.run)

    @dg.asset(deps=[before])
    def behind() -> None:
        with as_failures(dg.AssetExecutionContext.get()):
            begun.append("behind")

    with pytest.raises(DagsterExecutionInterruptedError):
        dg.materialize([before, behind], instance=instance)
    assert begun == ["before"]
    (run,) = instance.get_runs()
    assert run.status is dg.DagsterRunStatus.CANCELED


def test_a_person_at_a_terminal_is_told_at_once(place: Path) -> None:
    """The command names who holds the lock instead of waiting for it."""
    workspace = Workspace.load()
    with (
        exclusive(workspace.home.ensure().publisher_lock, purpose="holding it for a test"),
        pytest.raises(PublisherBusy, match="holding it for a test"),
    ):
        run_nightly(workspace)
