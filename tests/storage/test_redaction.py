"""Single lines are taken out of files for good."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory_assets.errors import StoreWriteFailed
from memory_assets.storage.redaction import drop_lines, redact_in_place
from tests.building import close, jsonl, row


def test_lines_are_blanked_where_they_stand(tmp_path: Path) -> None:
    """A process that holds the file open for appending goes on in the same file."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(jsonl([row(1, detail="secret"), row(2), b"torn secret"]))
    with path.open("ab") as appender:
        size = path.stat().st_size
        assert redact_in_place(path, {1, 3}) == 2
        assert path.stat().st_size == size
        appender.write(jsonl([close(4)]))
    lines = path.read_bytes().split(b"\n")
    assert b"secret" not in path.read_bytes()
    assert json.loads(lines[0])["seq"] == 1
    assert lines[2].strip() == b""
    assert json.loads(lines[3])["type"] == "session_closed"
    assert redact_in_place(path, {1, 3}) == 0


def test_lines_that_name_something_are_dropped(tmp_path: Path) -> None:
    """Those that nobody can read too; a file without any of either is not touched."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(jsonl([{"a": 1}, {"a": 2}, b"nonsense", b"[]"]))
    assert drop_lines(path, lambda line: line["a"] == 1) == 3
    assert path.read_bytes() == b'{"a": 2}\n'
    inode = path.stat().st_ino
    assert drop_lines(path, lambda line: line["a"] == 1) == 0
    assert path.stat().st_ino == inode


def test_a_file_that_is_gone_is_a_named_error(tmp_path: Path) -> None:
    """With its path."""
    with pytest.raises(StoreWriteFailed, match="gone"):
        redact_in_place(tmp_path / "gone.jsonl", {1})
