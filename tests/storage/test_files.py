"""Durable file operations, and OS errors as named errors."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from memory_assets.errors import StoreWriteFailed
from memory_assets.storage import files
from memory_assets.storage.files import (
    make_folder,
    stat_signature,
    write_atomically,
    write_errors,
)


def test_a_file_is_replaced_in_one_step(tmp_path: Path) -> None:
    """A reader that has the old file open goes on reading the old bytes."""
    path = tmp_path / "deep" / "er" / "f"
    write_atomically(path, b"old")
    with path.open("rb") as reader:
        write_atomically(path, b"new and longer")
        assert reader.read() == b"old"
    assert path.read_bytes() == b"new and longer"
    assert os.listdir(path.parent) == ["f"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    """The target of a rename cannot be a folder that holds something."""
    (tmp_path / "f" / "x").mkdir(parents=True)
    with pytest.raises(StoreWriteFailed) as caught:
        write_atomically(tmp_path / "f", b"new")
    assert str(tmp_path / "f") in str(caught.value)
    assert os.listdir(tmp_path) == ["f"]


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOSPC, "free some space"),
        (errno.EDQUOT, "free some space"),
        (errno.EACCES, "make the folder writable"),
        (errno.EROFS, "make the folder writable"),
        (errno.EIO, "mend the cause"),
    ],
)
def test_an_os_error_becomes_a_named_error_with_a_way_out(
    number: int, remedy: str, tmp_path: Path
) -> None:
    """The message says what, where, and what to do next."""
    with pytest.raises(StoreWriteFailed) as caught, write_errors(tmp_path):
        raise OSError(number, os.strerror(number))
    error = caught.value
    assert (error.where, error.exit_code) == (str(tmp_path), 4)
    assert os.strerror(number) in error.what
    assert remedy in error.remedy


def test_folders_are_made_with_every_parent_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A parent whose own entry was never synced could vanish with all that is in it."""
    synced: list[Path] = []
    real = files.fsync_folder

    def noted(folder: Path) -> None:
        synced.append(folder)
        real(folder)

    monkeypatch.setattr(files, "fsync_folder", noted)
    make_folder(tmp_path / "a" / "b" / "c")
    assert synced == [tmp_path, tmp_path / "a", tmp_path / "a" / "b"]
    make_folder(tmp_path / "a" / "b" / "c")
    assert len(synced) == 3


def test_a_file_in_the_way_of_a_folder_is_a_named_error(tmp_path: Path) -> None:
    """Wherever on the way it lies."""
    (tmp_path / "f").touch()
    for folder in (tmp_path / "f", tmp_path / "f" / "g" / "h"):
        with pytest.raises(StoreWriteFailed):
            make_folder(folder)


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> Path:
    path = tmp_path / "f"
    path.write_bytes(b"abc")
    return path


def test_the_signature_sees_a_write_that_restores_the_time(file: Path) -> None:
    """Same size, same modification time, other bytes: the change time betrays it."""
    before = file.stat()
    file.write_bytes(b"abd")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_mtime_ns == before.st_mtime_ns
    assert stat_signature(file.stat()) != stat_signature(before)


def test_the_signature_sees_another_file_of_the_same_name(file: Path) -> None:
    """A file moved over the old one has another inode."""
    before = stat_signature(file.stat())
    other = file.with_name("g")
    other.write_bytes(b"abc")
    other.replace(file)
    assert stat_signature(file.stat()) != before


def test_reading_changes_no_signature(file: Path) -> None:
    """Or every night would read every ledger."""
    before = stat_signature(file.stat())
    file.read_bytes()
    assert stat_signature(file.stat()) == before
