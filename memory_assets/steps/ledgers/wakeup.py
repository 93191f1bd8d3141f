"""Which finished sessions wait to be consolidated: a cheap look, for the sensor."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson

from memory_assets.domain.schemas import SESSIONS
from memory_assets.steps.ledgers import ingest
from memory_assets.storage.ledgers import SessionFiles, scan_ledgers
from memory_assets.storage.parts import DerivedTables

_TAIL_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Waiting:
    """Finished sessions that are new or have grown since the last night."""

    sessions: tuple[tuple[str, str], ...]
    signatures: tuple[str, ...]
    """Of their ledgers, in the same order: tells whether this is the set that was seen before."""


def waiting_sessions(
    ledgers: Path, derived: DerivedTables, *, is_known_tenant: Callable[[str], bool]
) -> Waiting:
    """Sessions whose ledger changed since it was last read and whose last row closes them.

    Companion files are ours: they never wake anybody, or publishing would trigger itself.
    """
    known = {
        (t, s): stat
        for t, s, stat in derived.read(
            ingest.GROUP, SESSIONS, ["tenant_id", "session_id", "ledger_stat"]
        ).iter_rows()
    }
    found = [
        f
        for f in scan_ledgers(ledgers, [])
        if known.get(f.key) != f.ledger_stat and is_known_tenant(f.tenant_id) and _is_closed(f)
    ]
    return Waiting(tuple(f.key for f in found), tuple(f.ledger_stat for f in found))


def _is_closed(files: SessionFiles) -> bool:
    """Whether the last line is a whole ``session_closed`` row; only the file's end is read."""
    try:
        with files.ledger.open("rb") as ledger:
            size = ledger.seek(0, os.SEEK_END)
            ledger.seek(max(0, size - _TAIL_BYTES))
            tail = ledger.read()
    except OSError:
        return False
    lines = tail.strip().rsplit(b"\n", 1)
    try:
        row = orjson.loads(lines[-1])
    except orjson.JSONDecodeError:
        return False
    return isinstance(row, dict) and row.get("type") == "session_closed"
