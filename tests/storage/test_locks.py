"""The lock between processes: named holder, gone with its holder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memory_assets.errors import PublisherBusy, StoreWriteFailed
from memory_assets.storage.locks import exclusive

HOLD = """
import sys, time
from pathlib import Path
from memory_assets.storage.locks import exclusive
with exclusive(Path(sys.argv[1]), purpose="a test"):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def _holder(lock: Path, seconds: float) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(lock), str(seconds)], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    return process


def test_a_second_process_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    """The message names purpose and process; a kill frees the lock at once."""
    lock = tmp_path / "locks" / "publisher.lock"
    with _holder(lock, 60) as process:
        with pytest.raises(PublisherBusy) as caught, exclusive(lock, purpose="another"):
            pytest.fail("two processes hold the lock")
        assert f"a test, process {process.pid}" in str(caught.value)
        assert caught.value.exit_code == 5
        process.send_signal(signal.SIGKILL)
    with exclusive(lock, purpose="another"):
        assert json.loads(lock.read_bytes())["pid"] == os.getpid()


def test_waiting_gets_it_when_the_holder_ends(tmp_path: Path) -> None:
    """Companion files are written one process after the other."""
    lock = tmp_path / "l"
    with _holder(lock, 0.3) as process:
        started = time.monotonic()
        with exclusive(lock, purpose="another", wait=True):
            assert time.monotonic() - started > 0.1
        assert process.wait(5) == 0


def test_the_same_process_cannot_hold_it_twice(tmp_path: Path) -> None:
    """Two threads, or a function that calls itself, are two holders."""
    with (
        exclusive(tmp_path / "l", purpose="outer"),
        pytest.raises(PublisherBusy, match="outer"),
        exclusive(tmp_path / "l", purpose="inner"),
    ):
        pytest.fail("held twice")


def test_it_is_free_again_after_an_error(tmp_path: Path) -> None:
    """Whatever ended the block."""
    with pytest.raises(ValueError, match="x"), exclusive(tmp_path / "l", purpose="p"):
        raise ValueError("x")
    with exclusive(tmp_path / "l", purpose="a longer purpose than before"):
        pass
    with exclusive(tmp_path / "l", purpose="p"):
        assert json.loads((tmp_path / "l").read_bytes())["purpose"] == "p"


@pytest.mark.parametrize("note", [b"", b"\xff\0", b"[1]", b"7", b"{}"])
def test_an_unreadable_note_does_not_hide_that_it_is_held(tmp_path: Path, note: bytes) -> None:
    """The holder may not have written its name yet."""
    lock = tmp_path / "l"
    with exclusive(lock, purpose="p"):
        lock.write_bytes(note)
        with pytest.raises(PublisherBusy, match="not known"), exclusive(lock, purpose="q"):
            pytest.fail("held twice")


def test_a_lock_that_cannot_be_made_is_a_named_error(tmp_path: Path) -> None:
    """A folder in its place, or a file in the place of its folder."""
    (tmp_path / "f").touch()
    for lock in (tmp_path, tmp_path / "f" / "l"):
        with pytest.raises(StoreWriteFailed), exclusive(lock, purpose="p"):
            pytest.fail("held")
