"""Recorded uses of memories: append-only files by day and process, read by the nightly run.

``<home>/access/dt=YYYY-MM-DD/<process>.jsonl``. A file per process keeps writers out of each
other's way, and a day's folder can be archived whole. Lines hold ids and times, never content.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec

from memory_assets.domain.promotion import PromotionKey
from memory_assets.storage.review_log import append_lines

Text = Annotated[str, msgspec.Meta(min_length=1)]


class UseEvent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One use: somebody applied a memory in a session, by the row that is named here."""

    tenant_id: Text
    session_id: Text
    decision_seq: int
    """N for ledger row N, -N for row N of the companion file."""
    fact_no: int = 0
    memory_id: Text
    used_at: datetime
    used_by: Text

    @property
    def event_id(self) -> PromotionKey:
        """What makes the event one: a later acceptance of the same row is no second use."""
        return (self.tenant_id, self.session_id, self.decision_seq, self.fact_no)


_DECODER = msgspec.json.Decoder(UseEvent)


@dataclass(frozen=True, slots=True)
class RefusedUse:
    """A line that is no use event, and why."""

    file: str
    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class AccessLog:
    """All events that were read, each once; repetitions, and lines that were refused."""

    events: tuple[UseEvent, ...]
    repeated: int
    refused: tuple[RefusedUse, ...]


def append_uses(root: Path, events: Sequence[UseEvent], *, process: str | None = None) -> None:
    """Appends the events durably, each to the file of its day (UTC) and of this process.

    Raises:
        StoreWriteFailed: a file cannot be written.
    """
    name = f"{process or os.getpid()}.jsonl"
    by_day: dict[str, list[bytes]] = {}
    for event in events:
        day = event.used_at.astimezone(UTC).date().isoformat()
        by_day.setdefault(day, []).append(msgspec.json.encode(event))
    for day, lines in sorted(by_day.items()):
        append_lines(root / f"dt={day}" / name, lines)


def read_uses(root: Path) -> AccessLog:
    """Every event once, in the order of files and lines; the first line of an event counts.

    A last line without line end is still being written and is left for the next reading.
    """
    events: dict[PromotionKey, UseEvent] = {}
    refused = []
    repeated = 0
    for path in sorted(root.glob("dt=*/*.jsonl")):
        lines = path.read_bytes().split(b"\n")
        for number, raw in enumerate(lines, 1):
            if not raw.strip():
                continue
            try:
                event = _sound(raw)
            except (msgspec.MsgspecError, UnicodeDecodeError, ValueError) as error:
                if number < len(lines):
                    name = path.relative_to(root).as_posix()
                    refused.append(RefusedUse(name, number, str(error)))
                continue
            repeated += event.event_id in events
            events.setdefault(event.event_id, event)
    return AccessLog(tuple(events.values()), repeated, tuple(refused))


def _sound(raw: bytes) -> UseEvent:
    event = _DECODER.decode(raw)
    if event.used_at.tzinfo is None:
        raise ValueError("used_at has no time zone")
    return event
