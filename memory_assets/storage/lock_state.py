"""Whether a lock is held, and by whom, without taking it."""

from __future__ import annotations

import fcntl
import os
import socket
from pathlib import Path

from memory_assets.storage.locks import in_words, is_at, note_in


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
        return None if _is_free(handle) else in_words(note_in(handle)) or "an unknown process"
    finally:
        os.close(handle)


def left_behind(path: Path) -> bool:
    """Whether a process of this host held the lock file, and ended without taking it away.

    False where nobody signed it yet, or somebody of another host, whose locks need not be seen
    here. A holder that takes the file away before it lets go is never mistaken for one that died.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        signed_here = note_in(handle).get("host") == socket.gethostname()
        return signed_here and _is_free(handle) and is_at(path, os.fstat(handle))
    finally:
        os.close(handle)


def _is_free(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
