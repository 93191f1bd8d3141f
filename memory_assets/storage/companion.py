"""Companion files: our own rows about a session, beside a ledger that we never touch."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from memory_assets.domain.parsing import ParsedLedger, parse_ledger
from memory_assets.storage.files import fsync_folder, write_errors

Row = Mapping[str, Any]
MissingRows = Callable[[ParsedLedger], Sequence[Row]]
"""From the rows that are there, the rows that are missing (without seq)."""


def append_missing(path: Path, *, tenant_id: str, session_id: str, missing: MissingRows) -> int:
    """Number of rows appended: those that ``missing`` finds absent, judged under the file's lock.

    The file is read again after the lock is held, so two writers never write one row twice. A torn
    last line is what is left of a write of ours that was cut short: it is removed before the
    append, and if its row is still missing it is written whole. Durable once this returns.

    Raises:
        StoreWriteFailed: the folder or file cannot be written.
    """
    with write_errors(path):
        fresh = not path.exists()
    with write_errors(path), path.open("a+b") as out:
        fcntl.flock(out, fcntl.LOCK_EX)
        out.seek(0)
        data = out.read()
        parsed = parse_ledger(data, tenant_id=tenant_id, session_id=session_id, origin="companion")
        rows = missing(parsed)
        if parsed.torn_tail is not None:
            data = data[: parsed.torn_tail.offset]
            out.truncate(len(data))
        if not rows:
            return 0
        seq = _last_seq(data, parsed)
        lines = [
            orjson.dumps({"seq": number, **row, "session_id": session_id, "tenant_id": tenant_id})
            for number, row in enumerate(rows, seq + 1)
        ]
        ending = b"" if not data or data.endswith(b"\n") else b"\n"
        out.write(ending + b"".join(line + b"\n" for line in lines))
        out.flush()
        os.fsync(out.fileno())
    if fresh:
        fsync_folder(path.parent)
    return len(rows)


def _last_seq(data: bytes, parsed: ParsedLedger) -> int:
    """A seq that no row of the file has, refused ones included, reaches."""
    accepted = max((-e.ref for e in parsed.events), default=0)
    return accepted + len(parsed.quarantined)
