"""Runs that were killed, and the nights that come after them."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import dagster as dg
import pytest

from memory_assets.defs.killed_runs import end_killed_runs, living_run
from memory_assets.defs.operations import killed_runs
from memory_assets.defs.resources import WorkspaceResource
from memory_assets.defs.run_nightly import dagster_home
from memory_assets.errors import PublisherBusy
from memory_assets.pipeline.workspace import Workspace
from memory_assets.storage.failpoints import VARIABLE
from memory_assets.storage.locks import exclusive

RUN = """
import dagster as dg
from memory_assets.defs.assemble import defs
from memory_assets.defs.run_nightly import dagster_home
from memory_assets.pipeline.workspace import Workspace

home = Workspace.load().home.ensure()
with dg.DagsterInstance.from_config(str(dagster_home(home.root))) as instance:
    defs.resolve_job_def("nightly_consolidation").execute_in_process(instance=instance)
"""
NIGHT = [sys.executable, "-m", "memory_assets", "nightly", "--json"]


def _killed_at(failpoint: str, command: Sequence[str] = NIGHT) -> None:
    environment = {**os.environ, VARIABLE: failpoint}
    done = subprocess.run(command, env=environment, capture_output=True, timeout=200)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


@pytest.mark.slow
@pytest.mark.crash
def test_a_killed_night_does_not_hold_up_the_next(place: Path) -> None:
    """Killed amid publication, where it holds the pool's only slot: the next night publishes."""
    _killed_at("publish.parts-staged")
    _killed_at("publish.committed")
    done = subprocess.run(NIGHT, capture_output=True, timeout=200)
    assert done.returncode == 0, done.stderr.decode()
    workspace = Workspace.load()
    assert workspace.generations.current()[0].number == 1
    with dg.DagsterInstance.from_config(str(dagster_home(workspace.home.root))) as instance:
        states = [run.status for run in instance.get_runs()]
        slots = instance.event_log_storage.get_concurrency_info("publisher")
    assert states == [dg.DagsterRunStatus.SUCCESS, *[dg.DagsterRunStatus.FAILURE] * 2]
    assert not slots.claimed_slots
    assert not slots.pending_steps
    assert list((workspace.home.root / "locks").glob("night-*")) == []


@pytest.mark.slow
@pytest.mark.crash
def test_a_run_whose_code_server_was_killed_with_it_is_ended(place: Path) -> None:
    """Nobody told Dagster: the sensor ends it once, and the next night publishes."""
    _killed_at("publish.parts-staged", [sys.executable, "-c", RUN])
    home = Workspace.load().home
    with dg.DagsterInstance.from_config(str(dagster_home(home.root))) as instance:
        (run,) = instance.get_runs()
        assert run.status is dg.DagsterRunStatus.STARTED
        assert instance.event_log_storage.get_concurrency_info("publisher").claimed_slots
        resources = {"workspace": WorkspaceResource()}
        with dg.build_sensor_context(instance=instance, resources=resources) as context:
            looks = [killed_runs(context) for _ in range(2)]
        said = [look.skip_message for look in looks if isinstance(look, dg.SkipReason)]
        assert said == [f"ended {run.run_id}", "no run was killed"]
        assert [r.status for r in instance.get_runs()] == [dg.DagsterRunStatus.FAILURE]
        assert not instance.event_log_storage.get_concurrency_info("publisher").claimed_slots
    assert not home.run_lock(run.run_id).exists()
    done = subprocess.run(NIGHT, capture_output=True, timeout=200)
    assert done.returncode == 0, done.stderr.decode()


def test_only_a_run_whose_process_is_gone_is_ended(place: Path) -> None:
    """Not one that lives, nor one that ended well, nor one that waits for its turn."""
    home = Workspace.load().home.ensure()
    with dg.instance_for_test() as instance:
        job = dg.GraphDefinition(name="night").to_job()
        mine, waiting = (
            instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED) for _ in range(2)
        )
        home.run_lock("any").parent.mkdir()
        home.run_lock(waiting.run_id).touch()
        with living_run(home, mine.run_id):
            assert end_killed_runs(home, instance) == []
        assert end_killed_runs(home, instance) == []
        with exclusive(home.run_lock(mine.run_id), purpose="run"):
            assert end_killed_runs(home, instance) == []
        assert end_killed_runs(home, instance) == [mine.run_id]
        assert end_killed_runs(home, instance) == []
        run = instance.get_run_by_id(waiting.run_id)
        assert run is not None
        assert run.status is dg.DagsterRunStatus.STARTED


def test_what_a_killed_run_left_is_swept_away(place: Path) -> None:
    """Its end is known already: only the lock file is in the way. A run of elsewhere is kept."""
    home = Workspace.load().home.ensure()
    with dg.instance_for_test() as instance:
        job = dg.GraphDefinition(name="night").to_job()
        ended = instance.create_run_for_job(job, status=dg.DagsterRunStatus.FAILURE)
        for run_id in (ended.run_id, "of-another-instance"):
            with exclusive(home.run_lock(run_id), purpose="run"):
                pass
        assert end_killed_runs(home, instance) == []
    assert list(home.run_locks()) == ["of-another-instance"]


def test_every_run_holds_a_lock_until_it_ends(place: Path) -> None:
    """Whatever it materializes; nothing is left of the lock afterwards."""
    home = Workspace.load().home

    @dg.asset
    def look(context: dg.AssetExecutionContext, workspace: WorkspaceResource) -> None:
        with (
            pytest.raises(PublisherBusy, match="run, process"),
            living_run(workspace.open().home, context.run.run_id),
        ):
            pytest.fail("nobody held it")

    done = dg.materialize([look], resources={"workspace": WorkspaceResource()})
    assert done.success
    assert list((home.root / "locks").glob("night-*")) == []
