"""When each generation was published, kept longer than the generations themselves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from memory_assets.storage.files import write_atomically


def noted_publications(path: Path) -> dict[int, str]:
    """Generation → time; empty without the file. A damaged one counts as none."""
    try:
        found = json.loads(path.read_bytes())
        return {int(number): str(at) for number, at in found.items()}
    except (OSError, ValueError, AttributeError):
        return {}


def note_publications(path: Path, times: Mapping[int, datetime]) -> None:
    """Writes the times down, if there are new ones.

    Raises:
        StoreWriteFailed: the file cannot be written.
    """
    body = {str(number): at.isoformat() for number, at in sorted(times.items())}
    if body and noted_publications(path) != {int(n): at for n, at in body.items()}:
        write_atomically(path, json.dumps(body, indent=1).encode())
