"""Tenants whose pre-flight check failed: who is stopped now, and everything that ever was."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from memory_assets.errors import CorruptStore
from memory_assets.storage.files import make_folder, write_atomically, write_errors

STOPPED = "stopped.json"
HISTORY = "deviations.jsonl"


def stopped_tenants(folder: Path) -> dict[str, dict[str, Any]]:
    """Tenant → its open deviation; empty before the first check.

    Raises:
        CorruptStore: the file cannot be read. Nobody guesses that a tenant may go on.
    """
    path = folder / STOPPED
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise _unreadable(path) from error
    if not isinstance(found, dict):
        raise _unreadable(path)
    return found


def record_deviations(
    folder: Path, now: Mapping[str, Mapping[str, Any]], checked: Sequence[str]
) -> None:
    """Replaces the open deviations of the checked tenants; each new one is written down for good.

    Raises:
        StoreWriteFailed: it cannot be written.
    """
    before = stopped_tenants(folder)
    kept = {t: d for t, d in before.items() if t not in checked}
    after = {**kept, **{t: dict(d) for t, d in now.items()}}
    fresh = [d for t, d in now.items() if _without_time(before.get(t)) != _without_time(d)]
    if fresh:
        make_folder(folder)
        lines = b"".join(json.dumps(dict(d), sort_keys=True).encode() + b"\n" for d in fresh)
        path = folder / HISTORY
        with write_errors(path), path.open("ab") as out:
            out.write(lines)
            out.flush()
            os.fsync(out.fileno())
    if after != before:
        write_atomically(folder / STOPPED, json.dumps(after, indent=1, sort_keys=True).encode())


def _without_time(deviation: Mapping[str, Any] | None) -> dict[str, Any]:
    return {k: v for k, v in (deviation or {}).items() if k != "at"}


def _unreadable(path: Path) -> CorruptStore:
    return CorruptStore(
        "The list of stopped tenants cannot be read.",
        where=str(path),
        remedy="delete the file and run `memory-assets doctor --preflight`.",
    )
