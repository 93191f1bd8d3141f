"""A corroboration that was no duplicate → the rows that make it a memory of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from memory_assets.domain.keys import content_sha256, duplicate_key

Row = Mapping[str, Any]
_KEY: Final = ("tenant_id", "session_id", "decision_seq", "fact_no")
_CONTENT: Final = ("type", "subject", "detail", "rationale", "question_context", "concepts")
_OWNER: Final = ("user_id", "client_id", "audience")


def detached_memory(
    row: Row, owner: Row, *, memory_id: str, generation: int, by: str
) -> dict[str, Any]:
    """The new memory: the corroboration's own words, for the people who saw them before.

    Owner, source and metadata are the incoming row's own; a corroboration of an earlier version has
    none of them on record, and takes the owner of the memory: the two have one scope.
    """
    content: dict[str, Any] = {**{name: row[name] for name in _CONTENT}, "tables": []}
    known = row["metadata"] is not None
    return {
        **{name: row[name] for name in _KEY},
        **{name: (row if known else owner)[name] for name in _OWNER},
        "scope": owner["scope"],
        **content,
        "memory_id": memory_id,
        "decided_at": row["decided_at"],
        "promoted_generation": generation,
        "source": row["source"],
        "metadata": row["metadata"] if known else "{}",
        "content_sha256": content_sha256(**content),
        "duplicate_key": duplicate_key(row["subject"], row["detail"]),
        "origin": "reviewed",
        "edited_from": None,
        "verdict_by": by,
    }


def detachment(
    row: Row, *, detached_as: str, generation: int, by: str, reason: str
) -> dict[str, Any]:
    """The row that says that the corroboration counts no longer, and what it became."""
    return {
        **{name: row[name] for name in _KEY},
        "memory_id": row["memory_id"],
        "detached_as": detached_as,
        "generation": generation,
        "decided_by": by,
        "reason": reason,
    }
