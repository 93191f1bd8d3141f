"""Ledger rows without their content: what is left keeps the replay and the references whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from memory_assets.domain.events import parse_ref

KEPT: Final = ("seq", "ts", "type", "phase", "session_id", "tenant_id", "after_seq", "source")
"""Fields of a redacted row; ``detail`` stays too where it is only a reference."""


def redacted_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with nothing left that somebody said or that points at a person."""
    left = {name: row[name] for name in KEPT if name in row}
    detail = row.get("detail")
    if isinstance(detail, str) and parse_ref(detail) is not None:
        left["detail"] = detail
    return left


def redacted_line(raw: bytes) -> bytes:
    """The line redacted in its own length: spaces fill what is gone, so no offset moves.

    A line that is no JSON object is blanked whole.
    """
    try:
        row = json.loads(raw)
    except ValueError:
        row = None
    if not isinstance(row, dict):
        return b" " * len(raw)
    new = json.dumps(redacted_row(row), separators=(",", ":"), ensure_ascii=False).encode()
    return new.ljust(len(raw)) if len(new) <= len(raw) else b" " * len(raw)
