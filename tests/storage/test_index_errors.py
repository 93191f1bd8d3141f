"""Lance's exceptions become errors of this project, and the disk's real ones among them."""

from __future__ import annotations

import errno
import multiprocessing
import os
import resource
import signal
from pathlib import Path

import pytest

from memory_assets.errors import (
    CorruptStore,
    IndexMismatch,
    PublicationConflict,
    StoreError,
    StoreWriteFailed,
)
from memory_assets.storage.index import SpaceIndex
from memory_assets.storage.index_errors import lance_errors
from tests.storage.index_samples import SPACE, source


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (RuntimeError("LanceError(IO): No space left on device (os error 28)"), StoreWriteFailed),
        (RuntimeError("LanceError(IO): Read-only file system (os error 30)"), StoreWriteFailed),
        (OSError(errno.EACCES, "Permission denied"), StoreWriteFailed),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), StoreWriteFailed),
        (OSError(errno.EIO, "Input/output error"), CorruptStore),
        (RuntimeError("LanceError(IO): Invalid range 0..0 for object of size 0"), CorruptStore),
        (OSError("Encountered corrupt file x: magic number does not match"), CorruptStore),
        (ValueError("Version 9 no longer exists. Was it cleaned up?"), IndexMismatch),
        (RuntimeError("lance error: Retryable commit conflict for version 3"), PublicationConflict),
        (ValueError("Invalid user input: Schema error: No field named x"), StoreError),
    ],
)
def test_each_kind_of_failure_has_its_error(raised: Exception, expected: type[Exception]) -> None:
    """The error says what was being done and where, and keeps its cause."""
    with pytest.raises(expected, match="writing failed") as caught, lance_errors("writing", "here"):
        raise raised
    assert type(caught.value) is expected
    assert "here" in str(caught.value)
    assert caught.value.__cause__ is raised


def test_errors_of_this_project_pass_unchanged() -> None:
    """A named error inside the block stays what it is."""
    error = StoreWriteFailed("x")
    with pytest.raises(StoreWriteFailed) as caught, lance_errors("writing", "here"):
        raise error
    assert caught.value is error


def test_folder_that_cannot_be_made_is_a_named_error(tmp_path: Path) -> None:
    """A file in the place of the index folder is reported, not crashed on."""
    (tmp_path / "index").write_text("in the way")
    with pytest.raises(StoreError, match="index"):
        SpaceIndex.open(tmp_path / "index", SPACE)


def test_disk_that_takes_no_more_is_a_named_error_and_harms_no_version(tmp_path: Path) -> None:
    """A write that the system cuts off is StoreWriteFailed; the version before is whole."""
    index = SpaceIndex.open(tmp_path, SPACE)
    wanted = source(1, 2)
    published = index.sync(wanted.target, wanted.rows_for).version
    context = multiprocessing.get_context("spawn")
    worker = context.Process(target=_sync_with_a_full_disk, args=(tmp_path,))
    worker.start()
    worker.join(120)
    assert worker.exitcode == 44
    assert len(index.pin(published).keys()) == 2
    more = source(*range(100))
    assert SpaceIndex.open(tmp_path, SPACE).sync(more.target, more.rows_for).rows == 100


def _sync_with_a_full_disk(index_dir: Path) -> None:
    index = SpaceIndex.open(index_dir, SPACE)
    wanted = source(*range(100))
    # A limit on the size of files stands for a full disk: it needs no device of its own.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000))
    try:
        index.sync(wanted.target, wanted.rows_for)
    except StoreWriteFailed:
        os._exit(44)
