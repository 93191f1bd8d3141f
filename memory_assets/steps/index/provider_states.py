"""What the providers of the last run were like at its end, for whoever asks later."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from memory_assets.embedding.chain import ProviderState
from memory_assets.storage.files import write_atomically


def note_states(cache: Path, states: Sequence[ProviderState], *, now: datetime) -> None:
    """Writes the states beside the other things that may be deleted at any time."""
    cache.mkdir(parents=True, exist_ok=True)
    body = {"at": now.isoformat(), "providers": [s.to_dict() for s in states]}
    write_atomically(_path(cache), json.dumps(body, indent=1).encode())


def last_states(cache: Path) -> dict[str, Any]:
    """``at`` and ``providers`` (see ``ProviderState``) of the last publication; empty without."""
    try:
        found = json.loads(_path(cache).read_bytes())
        return {"at": str(found["at"]), "providers": list(found["providers"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _path(cache: Path) -> Path:
    return cache / "providers.json"
