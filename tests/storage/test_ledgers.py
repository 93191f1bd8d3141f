"""Finding and reading ledgers below a folder that others write to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memory_assets.errors import LedgerUnreadable, UsageError
from memory_assets.storage.ledgers import (
    companion_path,
    ledger_path,
    read_ledger,
    scan_ledgers,
)
from tests.building import note, row, write_session


def test_sessions_are_found_with_their_companions(tmp_path: Path) -> None:
    """Sorted by tenant and session; signatures tell which files exist."""
    marker = [note(1, "memory_promoted", "seq:1", after_seq=1)]
    write_session(tmp_path, "b", "s2", [row(1)], marker)
    write_session(tmp_path, "b", "s10", [row(1)])
    write_session(tmp_path, "a", "s2", [row(1)])
    found = scan_ledgers(tmp_path)
    assert [f.key for f in found] == [("a", "s2"), ("b", "s10"), ("b", "s2")]
    assert [bool(f.companion_stat) for f in found] == [False, False, True]
    assert [f.ledger for f in found] == [ledger_path(tmp_path, *f.key) for f in found]
    assert [f.companion for f in found] == [companion_path(tmp_path, *f.key) for f in found]


def test_what_is_no_ledger_is_passed_over(tmp_path: Path) -> None:
    """Hidden files and folders, other files, companions without a ledger, files beside tenants."""
    write_session(tmp_path, "t", "s", [row(1)])
    write_session(tmp_path, ".hidden", "s", [row(1)])
    write_session(tmp_path, "t", ".s2", [row(1)])
    for name in ("t/notes.txt", "t/s.jsonl.bak", "t/lost.markers.jsonl", "truth.jsonl"):
        (tmp_path / name).touch()
    (tmp_path / "t" / "deeper").mkdir()
    write_session(tmp_path / "t", "deeper", "s3", [row(1)])
    assert [f.key for f in scan_ledgers(tmp_path)] == [("t", "s")]


def test_linked_folders_and_files_are_followed(tmp_path: Path) -> None:
    """Where the ledgers really lie is the operator's business."""
    write_session(tmp_path / "real", "t", "s", [row(1)])
    (tmp_path / "ledgers").mkdir()
    (tmp_path / "ledgers" / "t2").symlink_to(tmp_path / "real" / "t")
    assert [f.key for f in scan_ledgers(tmp_path / "ledgers")] == [("t2", "s")]


def test_a_missing_folder_is_a_usage_error(tmp_path: Path) -> None:
    """The message says how to name another one."""
    with pytest.raises(UsageError, match="--ledgers"):
        scan_ledgers(tmp_path / "none")


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe", "dangling link"])
def test_what_cannot_be_read_is_a_named_error(tmp_path: Path, kind: str) -> None:
    """A pipe too: reading it would wait for ever."""
    path = tmp_path / "s.jsonl"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "dangling link":
        path.symlink_to(tmp_path / "gone")
    with pytest.raises(LedgerUnreadable) as caught:
        read_ledger(path, tenant_id="t", session_id="s", origin="ledger")
    assert caught.value.where == str(path)


def test_a_missing_companion_is_empty(tmp_path: Path) -> None:
    """Most sessions have none."""
    parsed = read_ledger(tmp_path / "x", tenant_id="t", session_id="s", origin="companion")
    assert (parsed.events, parsed.size, parsed.origin) == ((), 0, "companion")
