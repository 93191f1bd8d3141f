"""The allocation log: ``<home>/allocations.jsonl``, append-only, kept apart from the registry."""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from memory_assets.domain.allocations import Allocation
from memory_assets.errors import CorruptStore
from memory_assets.storage.files import fsync_folder, make_folder, write_errors
from memory_assets.storage.home import Home

_DECODER = msgspec.json.Decoder(Allocation)


def read_allocations(home: Home) -> list[Allocation]:
    """All lines in order; none without a file. A last line without line end is not whole yet.

    Raises:
        CorruptStore: a line cannot be read.
    """
    try:
        data = home.allocations.read_bytes()
    except FileNotFoundError:
        return []
    whole = data[: data.rfind(b"\n") + 1]
    try:
        return _DECODER.decode_lines(whole)
    except msgspec.MsgspecError as error:
        raise CorruptStore(
            f"The allocation log cannot be read: {error}.",
            where=str(home.allocations),
            remedy="restore it from a backup; while the registry is sound, it may also be deleted: "
            "the next publication writes it anew.",
        ) from error


def append_allocations(home: Home, lines: Sequence[Allocation]) -> None:
    """Appends lines durably; what a crash cut short is cut off first. Hold the publisher's lock.

    Raises:
        StoreWriteFailed: the file cannot be written.
    """
    if not lines:
        return
    path = home.allocations
    make_folder(path.parent)
    fresh = not path.exists()
    with write_errors(path), path.open("w+b" if fresh else "r+b") as out:
        data = out.read()
        end = data.rfind(b"\n") + 1
        out.truncate(end)
        out.seek(end)
        out.write(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
        out.flush()
        os.fsync(out.fileno())
    if fresh:
        fsync_folder(path.parent)
