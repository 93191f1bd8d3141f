"""LedgerWriter in processes of its own: side by side, killed, and without room on the disk."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from memory_assets.domain.parsing import ParsedLedger
from memory_assets.storage.ledger_writer import LedgerWriter
from memory_assets.storage.ledgers import read_ledger

APPEND_FOR_EVER = """
import sys
from memory_assets.storage.ledger_writer import LedgerWriter
with LedgerWriter(sys.argv[1], "t", "s") as ledger:
    while True:
        seq = ledger.append("memory_event", source="CHAT", detail="x" * 20_000)
        print(seq, flush=True)
"""
APPEND_SOME = """
import sys
from memory_assets.storage.ledger_writer import LedgerWriter
with LedgerWriter(sys.argv[1], "t", "s") as ledger:
    sys.stdin.readline()
    for number in range(int(sys.argv[3])):
        ledger.append("memory_event", user_id=sys.argv[2], subject=str(number))
"""
APPEND_WITHOUT_ROOM = """
import os, resource, sys
from memory_assets.errors import StoreWriteFailed
from memory_assets.storage.ledger_writer import LedgerWriter
with LedgerWriter(sys.argv[1], "t", "s") as ledger:
    ledger.append("memory_event", detail="fits")
    size = os.path.getsize(ledger.path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 50, resource.RLIM_INFINITY))
    try:
        ledger.append("memory_event", detail="does not fit")
    except StoreWriteFailed as error:
        print("refused", os.path.getsize(ledger.path) - size)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print(ledger.append("memory_event", detail="fits again"))
"""


def _start(code: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _parsed(root: Path) -> ParsedLedger:
    return read_ledger(root / "t" / "s.jsonl", tenant_id="t", session_id="s", origin="ledger")


@pytest.mark.crash
def test_a_killed_writer_leaves_whole_rows(tmp_path: Path) -> None:
    """After SIGKILL every row whose number came back is there, and the rest of the file parses."""
    rng = random.Random(7)
    for _ in range(4):
        with _start(APPEND_FOR_EVER, tmp_path) as writer:
            assert writer.stdout is not None
            told = 0
            for _ in range(rng.randrange(1, 25)):
                told = int(writer.stdout.readline())
            writer.send_signal(signal.SIGKILL)
            told = max([told, *(int(n) for n in writer.stdout.read().split())])
            assert writer.wait() == -signal.SIGKILL
        parsed = _parsed(tmp_path)
        assert not parsed.quarantined
        refs = [event.ref for event in parsed.events]
        assert refs == list(range(1, len(refs) + 1))
        assert len(refs) >= told
        if parsed.torn_tail is not None:
            with (tmp_path / "t" / "s.jsonl").open("r+b") as file:
                file.truncate(parsed.torn_tail.offset)
    with LedgerWriter(tmp_path, "t", "s") as ledger:
        assert ledger.append("session_closed") == len(refs) + 1


def test_processes_append_side_by_side(tmp_path: Path) -> None:
    """Two processes lose, repeat and mix up nothing, and each one's rows keep their order."""
    writers = [_start(APPEND_SOME, tmp_path, name, 60) for name in ("a", "b")]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0
    parsed = _parsed(tmp_path)
    assert [event.ref for event in parsed.events] == list(range(1, 121))
    assert not parsed.quarantined
    for name in ("a", "b"):
        mine = [int(e.subject) for e in parsed.events if e.row.user_id == name]
        assert mine == list(range(60))


def test_a_row_that_does_not_fit_leaves_nothing_behind(tmp_path: Path) -> None:
    """When the disk takes half a row only, that half is taken back and the next row is sound."""
    done = subprocess.run(
        [sys.executable, "-c", APPEND_WITHOUT_ROOM, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split("\n")[:2] == ["refused 0", "2"]
    parsed = _parsed(tmp_path)
    assert [event.detail for event in parsed.events] == ["fits", "fits again"]
    assert not parsed.quarantined
    assert parsed.torn_tail is None
