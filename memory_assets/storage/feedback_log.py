"""Feedback about memories: an append-only file of what users and agents said, for reviewers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from memory_assets.storage.files import make_folder, write_atomically
from memory_assets.storage.locks import exclusive
from memory_assets.storage.review_log import append_lines

FeedbackKind = Literal["wrong", "outdated", "useful"]
KINDS: Final = ("wrong", "outdated", "useful")
Text = Annotated[str, msgspec.Meta(min_length=1)]


class Feedback(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="given"):
    """What somebody said about a memory; an item of the review queue."""

    tenant_id: Text
    memory_id: Text
    kind: FeedbackKind
    why: Text
    given_by: Text
    given_at: Annotated[datetime, msgspec.Meta(tz=True)]
    content_sha256: Text
    """Hash of the content that was judged."""

    @property
    def feedback_id(self) -> str:
        """What tells it from other feedback: repeating oneself makes no second item."""
        parts = (self.tenant_id, self.memory_id, self.kind, self.why, self.given_by)
        return "fb-" + hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:12]


_DECODER = msgspec.json.Decoder(Feedback)


@dataclass(frozen=True, slots=True)
class FeedbackLog:
    """All feedback, each item once, in the order in which it came."""

    items: tuple[Feedback, ...]
    refused: int
    """Lines that cannot be read."""


def read_feedback(path: Path) -> FeedbackLog:
    """The file as it stands; a missing one is empty, a torn last line is left alone."""
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return FeedbackLog((), 0)
    items: dict[str, Feedback] = {}
    refused = 0
    for number, raw in enumerate(lines, 1):
        if not raw.strip():
            continue
        try:
            line = _DECODER.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            refused += number < len(lines)
            continue
        items.setdefault(line.feedback_id, line)
    return FeedbackLog(tuple(items.values()), refused)


def append_feedback(path: Path, line: Feedback) -> None:
    """Appends one line durably.

    Raises:
        StoreWriteFailed: the file cannot be written.
    """
    make_folder(path.parent)
    with exclusive(path.with_suffix(".lock"), purpose="recording feedback", wait=True):
        append_lines(path, [msgspec.json.encode(line)])


def forget_feedback(path: Path, buried: set[tuple[str, str]]) -> int:
    """Count of items removed: those about erased memories, whose words may quote them."""
    if not path.exists():
        return 0
    with exclusive(path.with_suffix(".lock"), purpose="erasing feedback", wait=True):
        log = read_feedback(path)
        gone = {i.feedback_id for i in log.items if (i.tenant_id, i.memory_id) in buried}
        if gone or log.refused:
            kept = [i for i in log.items if i.feedback_id not in gone]
            write_atomically(path, b"".join(msgspec.json.encode(line) + b"\n" for line in kept))
    return len(gone)
