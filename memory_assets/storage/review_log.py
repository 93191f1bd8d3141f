"""The append-only file of review decisions."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

import msgspec

from memory_assets.domain.review import ReviewDecision
from memory_assets.storage.files import fsync_folder, make_folder, write_errors

_DECODER = msgspec.json.Decoder(ReviewDecision)


@dataclass(frozen=True, slots=True)
class RefusedDecision:
    """A line of the review file that is not applied, and why."""

    line: int
    code: str
    reason: str
    raw: bytes


@dataclass(frozen=True, slots=True)
class ReviewLog:
    """The review file as read: decisions with their line numbers, and refused lines."""

    decisions: tuple[tuple[int, ReviewDecision], ...]
    refused: tuple[RefusedDecision, ...]


def read_review_log(path: Path) -> ReviewLog:
    """All lines of the file; a missing file reads as empty.

    A last line without line end that does not parse is still being written: it is left alone.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ReviewLog((), ())
    decisions = []
    refused = []
    lines = data.split(b"\n")
    for number, raw in enumerate(lines, 1):
        if not raw.strip():
            continue
        try:
            decisions.append((number, _DECODER.decode(raw)))
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            if number < len(lines):
                refused.append(RefusedDecision(number, "bad-line", str(error), raw))
    return ReviewLog(tuple(decisions), tuple(refused))


def append_review_decisions(path: Path, decisions: list[ReviewDecision]) -> None:
    """Appends the decisions durably, under a lock; a torn last line is completed first."""
    if not decisions:
        return
    append_lines(path, [msgspec.json.encode(d) for d in decisions])


def append_lines(path: Path, lines: list[bytes]) -> None:
    """Appends whole lines durably to a file that several processes share.

    The lock is on the file itself. A torn last line (a writer died in the middle) gets a line end,
    so that it becomes a refused line of its own instead of swallowing the next one.
    """
    make_folder(path.parent)
    fresh = not path.exists()
    with write_errors(path), path.open("a+b") as out:
        fcntl.flock(out, fcntl.LOCK_EX)
        size = out.seek(0, os.SEEK_END)
        torn = False
        if size:
            out.seek(size - 1)
            torn = out.read(1) != b"\n"
            out.seek(0, os.SEEK_END)
        out.write((b"\n" if torn else b"") + b"".join(line + b"\n" for line in lines))
        out.flush()
        os.fsync(out.fileno())
    if fresh:
        fsync_folder(path.parent)
