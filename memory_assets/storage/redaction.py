"""Taking single lines out of files for good: in place where others append, by replacement else."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from pathlib import Path

import orjson

from memory_assets.domain.redaction import redacted_line
from memory_assets.storage.files import write_atomically
from memory_assets.storage.locks import locked_file


def redact_in_place(path: Path, lines: Collection[int]) -> int:
    """Count of lines redacted, by number; the file keeps its length, so appenders go on.

    The lock is the one that every writer of ledgers and companions takes. Durable on return.

    Raises:
        StoreWriteFailed: the file cannot be written.
    """
    wanted, done = set(lines), 0
    with locked_file(path, "r+b") as file:
        offset = 0
        for number, raw in enumerate(file.read().split(b"\n"), 1):
            new = redacted_line(raw) if number in wanted else raw
            if new != raw:
                file.seek(offset)
                file.write(new)
                done += 1
            offset += len(raw) + 1
        file.flush()
        os.fsync(file.fileno())
    return done


def drop_lines(path: Path, names: Callable[[dict[str, object]], bool]) -> int:
    """Count of lines dropped from a JSON-lines file of ours: those that ``names`` picks.

    Lines that are no JSON object are dropped too, since nobody can say what they hold. A file that
    holds none of either kind is not touched.
    """
    with locked_file(path, "rb") as file:
        lines = [raw for raw in file.read().split(b"\n") if raw.strip()]
        kept = [raw for raw in lines if not _goes(raw, names)]
        if len(kept) < len(lines):
            write_atomically(path, b"".join(raw + b"\n" for raw in kept))
    return len(lines) - len(kept)


def _goes(raw: bytes, names: Callable[[dict[str, object]], bool]) -> bool:
    try:
        row = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return True
    return not isinstance(row, dict) or names(row)
