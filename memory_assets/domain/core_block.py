"""The core block: what an agent is told before its first question, in at most 2,048 bytes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from memory_assets.domain.ranking import Weights

MOST_BYTES: Final = 2_048
_RECENCY_DAYS: Final = 14.0
_PROFILE, _RULE, _OTHER = range(3)


@dataclass(frozen=True, slots=True)
class CoreMemory:
    """One core memory as the block sees it."""

    memory_id: str
    subject: str
    detail: str
    decided_at: datetime
    last_seen: datetime
    """The later of its decision and its last access."""
    accesses: int = 0
    is_profile: bool = False
    """A reviewer marked it as part of the client's profile."""
    is_rule: bool = False
    """Marked as immutable."""

    @property
    def line(self) -> str:
        """The memory on one line; white space that could open a line of its own is folded."""
        subject, detail = " ".join(self.subject.split()), " ".join(self.detail.split())
        return f"- {subject}: {detail}"


@dataclass(frozen=True, slots=True)
class CoreBlock:
    """The rendered block, which memories it holds in its order, and which found no room."""

    text: str
    memory_ids: tuple[str, ...]
    left_out: tuple[str, ...]

    @property
    def bytes(self) -> int:
        """Size in UTF-8."""
        return len(self.text.encode("utf-8"))

    def to_dict(self) -> dict[str, Any]:
        """The block as ``--json`` prints it."""
        return {
            "text": self.text,
            "bytes": self.bytes,
            "most_bytes": MOST_BYTES,
            "memory_ids": list(self.memory_ids),
            "left_out": list(self.left_out),
        }


def render_core(
    memories: Iterable[CoreMemory], *, at: datetime, most_bytes: int = MOST_BYTES
) -> CoreBlock:
    """The block of these memories: profile rows first, then immutable rules, then by value.

    A memory goes in whole or not at all, so neither a character nor a sentence is ever cut: half a
    definition can say its opposite. One that finds no room is passed over, and named. Value is the
    part of the search score that does not depend on a question: recency and accesses at ``at``.
    """
    ordered = sorted(memories, key=_number)
    most = max((m.accesses for m in ordered), default=0)
    ordered.sort(key=lambda m: (_class(m), -_value(m, at, most), -m.decided_at.timestamp()))
    lines: list[str] = []
    held, left_out = [], []
    room = most_bytes
    for memory in ordered:
        size = len(memory.line.encode("utf-8")) + 1
        if size <= room:
            room -= size
            lines.append(memory.line + "\n")
            held.append(memory.memory_id)
        else:
            left_out.append(memory.memory_id)
    return CoreBlock("".join(lines), tuple(held), tuple(left_out))


def _class(memory: CoreMemory) -> int:
    if memory.is_profile:
        return _PROFILE
    return _RULE if memory.is_rule else _OTHER


def _value(memory: CoreMemory, at: datetime, most: int) -> float:
    weights = Weights()
    age = max(at - memory.last_seen, timedelta())
    recency = math.exp(-age / timedelta(days=_RECENCY_DAYS))
    access = math.log1p(memory.accesses) / math.log1p(most) if most else 0.0
    return weights.recency * recency + weights.access * access


def _number(memory: CoreMemory) -> tuple[int, str]:
    return len(memory.memory_id), memory.memory_id
