"""Lance's exceptions as errors of this project.

Lance and LanceDB raise RuntimeError, ValueError and OSError with the cause in the message only.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager

from memory_assets.errors import (
    CorruptStore,
    IndexMismatch,
    PublicationConflict,
    StoreError,
    StoreWriteFailed,
)

REINDEX = "run `memory-assets reindex`, which builds the index anew from the registry."
_REPAIR = "run `memory-assets repair-index`, which builds the index anew from the registry."

_OS_ERROR = re.compile(r"\(os error (\d+)\)")
_UNWRITABLE = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "a file would grow beyond the limit",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission is missing",
    errno.EPERM: "permission is missing",
}
_GONE = re.compile(
    r"_versions/\S+ was not found|no longer exists|Table '.*' was not found|Version not found", re.S
)
_CONFLICT = re.compile(r"commit conflict|concurrent (?:transaction|modification)", re.I)
_MISUSE = re.compile(r"Invalid (?:user )?input|Schema error|Query vector size", re.I)


@contextmanager
def lance_errors(doing: str, where: str) -> Iterator[None]:
    """Maps what Lance raises inside the block; ``doing`` and ``where`` go into the message.

    Raises:
        StoreWriteFailed: the disk is full, or the folder cannot be written.
        IndexMismatch: the table or the version is not there.
        PublicationConflict: another writer committed to the table first.
        CorruptStore: a file of the table is damaged or missing.
        StoreError: Lance refused the request itself.
    """
    try:
        yield
    except (OSError, RuntimeError, ValueError) as error:
        raise _named(error, doing, where) from error


def _named(error: Exception, doing: str, where: str) -> StoreError | PublicationConflict:
    text = str(error)
    number = error.errno if isinstance(error, OSError) else None
    found = _OS_ERROR.search(text)
    if found:
        number = int(found.group(1))
    if number in _UNWRITABLE:
        return StoreWriteFailed(
            f"{doing} failed: {_UNWRITABLE[number]}",
            where=where,
            remedy="mend that and run again; what was published is untouched.",
        )
    if _GONE.search(text):
        return IndexMismatch(
            f"{doing} failed: this version of the index is gone", where=where, remedy=REINDEX
        )
    if _CONFLICT.search(text):
        return PublicationConflict(
            f"{doing} failed: another process wrote to the index", where=where, remedy="run again."
        )
    if _MISUSE.search(text):
        return StoreError(f"{doing} failed: the request was refused: {text}", where=where)
    return CorruptStore(
        f"{doing} failed: a file of the index is damaged or missing ({text.splitlines()[0][:200]})",
        where=where,
        remedy=_REPAIR,
    )
