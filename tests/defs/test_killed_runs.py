"""Nights of the command line that were killed, and the nights that come after them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from memory_assets.defs.killed_runs import end_killed_nights, living_night, night_tags
from memory_assets.defs.run_nightly import dagster_home
from memory_assets.pipeline.workspace import Workspace
from memory_assets.storage.failpoints import VARIABLE

NIGHT = [sys.executable, "-m", "memory_assets", "nightly", "--json"]


def _killed_at(failpoint: str) -> None:
    environment = {**os.environ, VARIABLE: failpoint}
    done = subprocess.run(NIGHT, env=environment, capture_output=True, timeout=200)
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


def test_a_night_that_lives_is_left_alone(place: Path) -> None:
    """Only a run whose lock is free is ended, and none of another home or host."""
    home = Workspace.load().home.ensure()
    with dg.instance_for_test() as instance:
        job = dg.GraphDefinition(name="night").to_job()
        mine, foreign = (
            instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED, tags=tags)
            for tags in (night_tags(home), {})
        )
        with living_night(home, mine.run_id):
            assert end_killed_nights(home, instance) == []
        assert end_killed_nights(home, instance) == [mine.run_id]
        assert end_killed_nights(home, instance) == []
        run = instance.get_run_by_id(foreign.run_id)
        assert run is not None
        assert run.status is dg.DagsterRunStatus.STARTED
