"""The search filter: which rows may leave a search at all, whoever asks.

One of the five boundaries that keep schema choices out of memory. It stands alone: it holds even if
everything before it let a table choice through, so it has a list of types of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from memory_assets.domain.candidates import DEFAULT_SCHEMA_PATTERNS, SchemaNames

SEARCHABLE_TYPES: Final = frozenset({"concept_clarified"})


def search_refusal(
    type: str, subject: str, patterns: Sequence[str] = DEFAULT_SCHEMA_PATTERNS
) -> str | None:
    """Why a row never leaves a search; None when it may.

    Table and column choices are local to their question, and so is a bare schema name that poses
    as a concept (``fact_*``, ``dim_*``; the patterns are the tenant's).
    """
    if type not in SEARCHABLE_TYPES:
        return f"{type} is local to its question, never memory"
    return SchemaNames(patterns).refusal(subject)
