"""Advisory locks between processes; the kernel drops them when their holder dies."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from memory_assets.errors import PublisherBusy
from memory_assets.storage.files import NO_SPACE, make_folder, write_errors, write_failed


@contextmanager
def exclusive(path: Path, *, purpose: str, wait: bool = False) -> Iterator[None]:
    """Holds the lock file for this process while the block runs.

    The file names its holder (process, host, purpose) for the message that the next one gets. A
    holder that was killed leaves no lock behind, only an outdated name.

    Raises:
        PublisherBusy: another process holds it, and ``wait`` is false.
    """
    make_folder(path.parent)
    with write_errors(path):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise PublisherBusy(
                f"Another process is at work: {_holder(handle)}.",
                where=str(path),
                remedy="wait until it has ended and run again; nothing was changed by this run.",
            ) from None
        _sign(handle, path, purpose)
        yield
    finally:
        os.close(handle)


@contextmanager
def locked_file(path: Path, mode: str) -> Iterator[IO[bytes]]:
    """The file opened under a lock on itself, which whoever replaces it holds too.

    A file that was replaced while this process waited for it is opened anew: what is written to
    the old one would be lost.
    """
    with write_errors(path):
        while True:
            with path.open(mode) as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                if is_at(path, os.fstat(file.fileno())):
                    yield file
                    return


def is_at(path: Path, opened: os.stat_result) -> bool:
    """Whether the opened file still lies at ``path``."""
    try:
        return os.path.samestat(opened, path.stat())
    except FileNotFoundError:
        return False


def _sign(handle: int, path: Path, purpose: str) -> None:
    """Writes the holder's name. On a full disk it holds the lock without: `gc` makes room there."""
    note = {"pid": os.getpid(), "host": socket.gethostname(), "purpose": purpose}
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(note).encode(), 0)
    except OSError as error:
        if error.errno not in NO_SPACE:
            raise write_failed(path, error) from error


def _holder(handle: int) -> str:
    return in_words(note_in(handle)) or "its name is not known yet"


def note_in(handle: int) -> dict[str, object]:
    """What the holder of an opened lock file wrote; empty before that."""
    try:
        note = json.loads(os.pread(handle, 4096, 0))
    except ValueError:
        return {}
    return note if isinstance(note, dict) else {}


def in_words(note: Mapping[str, object]) -> str:
    """The holder that a note names; empty where it names none."""
    try:
        return "{purpose}, process {pid} on {host}".format_map(note)
    except KeyError:
        return ""
