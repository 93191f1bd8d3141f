"""How an entry made by hand is told from the rest."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Final

ORIGIN: Final = "manual"
_PREFIX: Final = "manual-"


def manual_session(now: datetime, suffix: str) -> str:
    """The name of the session that holds one entry."""
    return f"{_PREFIX}{now:%Y%m%dT%H%M%S}-{suffix}"


def is_manual(session_id: str, metadata: str) -> bool:
    """Whether a clarification was entered by hand.

    It says where a memory came from, and gives no right: such a row is reviewed like any other.
    """
    if not session_id.startswith(_PREFIX) or ORIGIN not in metadata:
        return False
    found = json.loads(metadata)
    return isinstance(found, dict) and found.get("origin") == ORIGIN
