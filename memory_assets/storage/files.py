"""Durable file operations; the one place where OS errors become named errors."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memory_assets.errors import StoreWriteFailed

NO_SPACE = {errno.ENOSPC, errno.EDQUOT}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turns an OSError of a write into StoreWriteFailed with the path and a way out."""
    try:
        yield
    except OSError as error:
        raise write_failed(path, error) from error


def write_failed(path: Path, error: OSError) -> StoreWriteFailed:
    """The named error for a failed write."""
    if error.errno in NO_SPACE:
        remedy = "free some space and run again; what was published stays published."
    elif error.errno in _FORBIDDEN:
        remedy = "make the folder writable for this user and run again; nothing was changed."
    else:
        remedy = "mend the cause and run again; nothing half-written is ever read."
    return StoreWriteFailed(
        f"Cannot write: {error.strerror or error}.", where=str(path), remedy=remedy
    )


def fsync_folder(folder: Path) -> None:
    """Makes the folder's entries (new names, renames) durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def fsync_file(path: Path) -> None:
    """Makes a finished file's bytes durable."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(folder: Path) -> None:
    """Creates the folder and its parents, durably; nothing to do when it exists."""
    with write_errors(folder):
        if folder.is_dir():
            return
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        fsync_folder(folder.parent)


def write_atomically(path: Path, data: bytes) -> None:
    """Replaces a file in one step: readers see the old bytes or the new ones, also after a crash.

    Temporary file in the same folder → fsync → rename → fsync of the folder.
    """
    make_folder(path.parent)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with write_errors(path):
        try:
            with temporary.open("wb") as out:
                out.write(data)
                out.flush()
                os.fsync(out.fileno())
            temporary.replace(path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
        fsync_folder(path.parent)


def stat_signature(found: os.stat_result) -> str:
    """Changes whenever a file may have changed: size, both times and inode.

    The change time cannot be set by a program, so a write that restores the modification time is
    seen all the same.
    """
    return f"{found.st_size}:{found.st_mtime_ns}:{found.st_ctime_ns}:{found.st_ino}"
