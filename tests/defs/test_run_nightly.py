"""The night that a person or a service manager starts, and stops."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memory_assets.cli.failures import INTERRUPTED
from memory_assets.defs.run_nightly import run_nightly
from memory_assets.errors import CorruptStore
from memory_assets.pipeline.workspace import Workspace
from memory_assets.storage.deviations import stopped_tenants
from memory_assets.storage.locks import exclusive


def _waits_for_a_lock(pid: int) -> bool:
    """Whether the kernel lists the process among those that wait for a lock."""
    locks = Path("/proc/locks").read_text()
    return any("->" in line and f" {pid} " in line for line in locks.splitlines())


@pytest.mark.e2e
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
def test_a_night_that_is_told_to_stop_stops_and_says_so(place: Path, number: int) -> None:
    """Exit code 130 and one sentence in the middle of a step; the next night is not hindered."""
    home = Workspace.load().home.ensure()
    command = [sys.executable, "-m", "memory_assets", "nightly"]
    with exclusive(home.root / "locks" / "derived.lock", purpose="holding it for a test"):
        child = subprocess.Popen(command, env={**os.environ}, stderr=subprocess.PIPE)
        until = time.monotonic() + 120
        while not _waits_for_a_lock(child.pid):
            assert child.poll() is None
            assert time.monotonic() < until
            time.sleep(0.1)
        child.send_signal(number)
        said = child.communicate(timeout=60)[1].decode()
    assert child.returncode == INTERRUPTED, said
    assert "Interrupted." in said
    assert "Traceback" not in said
    assert subprocess.run(command, capture_output=True).returncode == 0
    assert Workspace.load().generations.current()[0].number == 1


def test_a_night_on_a_damaged_home_is_stopped_and_written_down(place: Path) -> None:
    """The pre-flight check is asked before the first ledger is read."""
    workspace = Workspace.load()
    workspace.home.ensure().current.write_text("garbage")
    with pytest.raises(CorruptStore, match="CURRENT is not readable"):
        run_nightly(workspace)
    found = stopped_tenants(workspace.home.preflight)
    assert found
    assert {deviation["name"] for deviation in found.values()} == {"home"}


@pytest.mark.slow
def test_a_night_whose_records_cannot_be_written_says_so_by_name(place: Path) -> None:
    """Dagster's own files may not grow: exit code 4 and their folder; with room the night runs."""
    command = [sys.executable, "-m", "memory_assets", "nightly", "--json"]
    small = ["sh", "-c", 'ulimit -f 40; exec "$@"', "sh", *command]
    stopped = subprocess.run(small, capture_output=True)
    said = json.loads(stopped.stdout)
    assert (stopped.returncode, said["error"]) == (4, "store-write-failed"), stopped.stderr
    assert Path(said["where"]) == place / "home" / "dagster"
    assert subprocess.run(command, capture_output=True).returncode == 0
