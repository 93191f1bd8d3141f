"""The append-only file of review decisions."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from memory_assets.domain.review import ProposalDecision, ReviewDecision
from memory_assets.storage.files import fsync_folder, make_folder
from memory_assets.storage.locks import locked_file

ReviewLine = ReviewDecision | ProposalDecision
_DECISION: Final = msgspec.json.Decoder(ReviewDecision)
_PROPOSAL: Final = msgspec.json.Decoder(ProposalDecision)
_NAMES: Final = [f'"{name}"'.encode() for name in ReviewDecision.__struct_fields__]
_BOM: Final = b"\xef\xbb\xbf"


class _Probe(msgspec.Struct):
    proposal: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_PROBE: Final = msgspec.json.Decoder(_Probe)


@dataclass(frozen=True, slots=True)
class RefusedDecision:
    """A line of the review file that is not applied, and why."""

    line: int
    code: str
    reason: str
    raw: bytes


@dataclass(frozen=True, slots=True)
class ReviewLog:
    """The review file as read: sound lines with their numbers, and refused lines."""

    decisions: tuple[tuple[int, ReviewDecision], ...]
    refused: tuple[RefusedDecision, ...]
    proposals: tuple[tuple[int, ProposalDecision], ...] = ()

    def lines(self) -> list[tuple[int, ReviewLine]]:
        """Sound lines of both kinds in the order of the file."""
        found: list[tuple[int, ReviewLine]] = [*self.decisions, *self.proposals]
        return sorted(found, key=lambda numbered: numbered[0])


def read_review_log(path: Path) -> ReviewLog:
    """All lines of the file; a missing file reads as empty.

    A last line without line end that does not parse is still being written: it is left alone. What
    editors add (a byte-order mark, other line ends) is no fault.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ReviewLog((), ())
    decisions: list[tuple[int, ReviewDecision]] = []
    proposals: list[tuple[int, ProposalDecision]] = []
    refused = []
    lines = data.removeprefix(_BOM).split(b"\n")
    for number, raw in enumerate(lines, 1):
        if not raw.strip():
            continue
        try:
            found = _decode(raw)
        except (msgspec.MsgspecError, ValueError) as error:
            if number < len(lines):
                refused.append(RefusedDecision(number, "bad-line", str(error), raw))
            continue
        if isinstance(found, ReviewDecision):
            decisions.append((number, found))
        else:
            proposals.append((number, found))
    return ReviewLog(tuple(decisions), tuple(refused), tuple(proposals))


def _decode(raw: bytes) -> ReviewLine:
    is_proposal = _PROBE.decode(raw).proposal is not msgspec.UNSET
    found = _PROPOSAL.decode(raw) if is_proposal else _DECISION.decode(raw)
    if any(raw.count(name) > 1 for name in _NAMES):
        json.loads(raw, object_pairs_hook=_without_repetition)
    return found


def _without_repetition(pairs: list[tuple[str, Any]]) -> None:
    names = [name for name, _ in pairs]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"{', '.join(repeated)} is written twice: which one is meant?")


def append_review_decisions(path: Path, decisions: Sequence[ReviewLine]) -> None:
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
    with locked_file(path, "a+b") as out:
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
