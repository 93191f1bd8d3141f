"""Who holds a lock, asked without taking it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from memory_assets.storage.lock_state import holder_of, left_behind
from memory_assets.storage.locks import exclusive

HOLD = """
import sys, time
from pathlib import Path
from memory_assets.storage.locks import exclusive
with exclusive(Path(sys.argv[1]), purpose="run"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_held_lock_names_its_holder(tmp_path: Path) -> None:
    """Purpose and process, as the holder signed; nobody once it is released."""
    path = tmp_path / "locks" / "publisher.lock"
    assert holder_of(path) is None
    with exclusive(path, purpose="publishing"):
        found = holder_of(path)
        assert found is not None
        assert found.startswith(f"publishing, process {os.getpid()} on ")
    assert holder_of(path) is None


def test_asking_takes_nothing(tmp_path: Path) -> None:
    """Whoever wants the lock right after the question gets it."""
    path = tmp_path / "publisher.lock"
    path.write_text("no note")
    assert holder_of(path) is None
    with exclusive(path, purpose="publishing"):
        path.write_text("overwritten by somebody")
        assert holder_of(path) == "an unknown process"


def test_a_lock_is_left_behind_by_a_process_of_this_host_that_is_gone(tmp_path: Path) -> None:
    """Not while it lives, nor before anybody signed it, nor when its holder is elsewhere."""
    lock = tmp_path / "run.lock"
    assert not left_behind(lock)
    assert not lock.exists()
    lock.touch()
    assert not left_behind(lock)
    command = [sys.executable, "-c", HOLD, str(lock)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert not left_behind(lock)
        holder.kill()
    assert left_behind(lock)
    with exclusive(lock, purpose="run"):
        assert not left_behind(lock)
    lock.write_text(json.dumps({"pid": 1, "host": "elsewhere", "purpose": "run"}))
    assert not left_behind(lock)
