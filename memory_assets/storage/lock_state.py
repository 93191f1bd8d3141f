"""Whether a lock is held, and by whom, without taking it."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path


def holder_of(path: Path) -> str | None:
    """Who holds the lock file now, as far as its note says; None when nobody does.

    A shared lock is tried for an instant. That cannot disturb a holder, and somebody who asks for
    the lock in that very instant is told to come again.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _note(os.pread(handle, 4096, 0))
    finally:
        os.close(handle)
    return None


def _note(data: bytes) -> str:
    try:
        note = json.loads(data)
        return f"{note['purpose']}, process {note['pid']} on {note['host']}"
    except (ValueError, KeyError, TypeError):
        return "an unknown process"
