"""Reason codes in words: why a clarification is not, or not yet, part of the registry.

One place to extend: a new code of the preview or of the assessment gets its sentence here, and
every report, page and documentation table shows it.
"""

from __future__ import annotations

from typing import Final

REASONS: Final[dict[str, str]] = {
    "not-reusable": "a choice of tables or columns: local to its question, never memory",
    "not-in-force": "no longer in force: withdrawn, or its phase was reopened or rolled back",
    "empty": "subject or detail is empty",
    "schema-name": "a bare table or column name in place of a concept",
    "declined": "declined by a reviewer or by a marker",
    "promoted": "already promoted",
    "equal-content": "says the same as an earlier decision of the session",
    "open": "the session is not finished yet",
    "blocked": "the ledger is missing, unreadable or lost a row, or a pre-flight check stopped its "
    "tenant",
}


def in_words(code: str) -> str:
    """The sentence of a reason code, or the code itself when this version does not know it."""
    return REASONS.get(code, code)
