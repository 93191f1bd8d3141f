"""The append-only file of intents: what other jobs ask the next publication to do."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from memory_assets.domain.intents import Intent, Recorded, RefusedIntent
from memory_assets.storage.files import fsync_folder, make_folder, write_atomically, write_errors
from memory_assets.storage.home import Home
from memory_assets.storage.locks import exclusive

FILE_NAME: Final = "intents.jsonl"
_DECODER = msgspec.json.Decoder(Recorded)


class _Number(msgspec.Struct):
    no: int = 0


_NUMBERS = msgspec.json.Decoder(_Number)


@dataclass(frozen=True, slots=True)
class IntentLog:
    """The file as read: sound lines in the order of their numbers, and refused ones."""

    recorded: tuple[Recorded, ...]
    refused: tuple[RefusedIntent, ...]

    def after(self, number: int) -> list[Recorded]:
        """The intents that a generation which has looked at ``number`` has not seen."""
        return [r for r in self.recorded if r.no > number]

    @property
    def last(self) -> int:
        """The highest number in use; 0 without lines."""
        return max([r.no for r in self.recorded] + [r.no for r in self.refused], default=0)


def read_intents(home: Home) -> IntentLog:
    """All lines; a missing file reads as empty.

    A line that cannot be read is refused by name. The last one without line end is still being
    written: it is left alone.
    """
    try:
        data = _file(home).read_bytes()
    except FileNotFoundError:
        return IntentLog((), ())
    recorded: dict[int, Recorded] = {}
    refused = []
    lines = data.split(b"\n")
    for at, raw in enumerate(lines, 1):
        if not raw.strip():
            continue
        try:
            line = _DECODER.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            if at < len(lines):
                why = f"line {at} of {FILE_NAME}: {error}"
                refused.append(RefusedIntent(_number(raw), "", "bad-line", why))
            continue
        if line.no in recorded:
            refused.append(RefusedIntent(line.no, "", "number-taken", f"line {at} of {FILE_NAME}"))
            continue
        recorded[line.no] = line
    return IntentLog(tuple(recorded[n] for n in sorted(recorded)), tuple(refused))


def append_intents(home: Home, intents: Sequence[Intent], *, after: int = 0) -> list[int]:
    """The numbers under which the intents are now durably on record, in order.

    They take effect with the next publication. ``after`` is the last number that the published
    generation has looked at (``Generation.intents_through``): numbers start above it even when
    somebody took the file away. All of them are written in one go, or (a crash) a readable prefix.

    Raises:
        StoreWriteFailed: the file cannot be written.
    """
    if not intents:
        return []
    path = _file(home)
    make_folder(path.parent)
    with exclusive(_lock(home), purpose="recording intents", wait=True):
        fresh = not path.exists()
        data = b"" if fresh else path.read_bytes()
        # A torn last line was cut off by a crash before anybody was told its number.
        whole = data[: data.rfind(b"\n") + 1]
        first = max([after, *(_number(raw) for raw in whole.split(b"\n"))]) + 1
        numbers = list(range(first, first + len(intents)))
        lines = [
            msgspec.json.encode(Recorded(no, intent)) + b"\n"
            for no, intent in zip(numbers, intents, strict=True)
        ]
        with write_errors(path), path.open("w+b" if fresh else "r+b") as out:
            out.truncate(len(whole))
            out.seek(len(whole))
            out.write(b"".join(lines))
            out.flush()
            os.fsync(out.fileno())
        if fresh:
            fsync_folder(path.parent)
    return numbers


def rewrite_intents(home: Home, change: Callable[[Recorded], Recorded | None]) -> int:
    """Count of lines that ``change`` replaced or (None) dropped; the file is replaced in one step.

    Lines that cannot be read are dropped too: nobody can say what they name.
    """
    path = _file(home)
    if not path.exists():
        return 0
    with exclusive(_lock(home), purpose="redacting intents", wait=True):
        log = read_intents(home)
        kept = [(r, change(r)) for r in log.recorded]
        changed = sum(new != old for old, new in kept) + len(log.refused)
        if changed:
            lines = [msgspec.json.encode(new) + b"\n" for _, new in kept if new is not None]
            write_atomically(path, b"".join(lines))
    return changed


def _file(home: Home) -> Path:
    return home.intents / FILE_NAME


def _lock(home: Home) -> Path:
    return home.root / "locks" / "intents.lock"


def _number(raw: bytes) -> int:
    try:
        return _NUMBERS.decode(raw).no
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return 0
