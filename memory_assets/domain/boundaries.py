"""Two of the five boundaries that keep schema choices out of memory: the preview and the summary.

Each stands alone: it holds even if everything before it let a table choice through, so each has a
list of types of its own. (The others: the core rule in ``events``, the search filter in
``searchable``, and the review.)
"""

from __future__ import annotations

from typing import Final

from memory_assets.domain.candidates import SchemaNames

OFFERED_TYPES: Final = frozenset({"concept_clarified"})
"""What a preview may offer to a reviewer."""
LISTED_TYPES: Final = frozenset({"concept_clarified"})
"""What a list, a summary or a history of memories may show."""


def offer_refusal(type: str, subject: str, names: SchemaNames) -> tuple[str, str] | None:
    """(code, reason) why a decision is never offered to a reviewer; None when it may be."""
    return _refusal(type, subject, names, OFFERED_TYPES)


def listing_refusal(type: str, subject: str, names: SchemaNames) -> tuple[str, str] | None:
    """(code, reason) why a row of the registry is shown as a memory to nobody; None when it may be.

    ``names`` holds the tenant's patterns; the tables of the session are not known here.
    """
    return _refusal(type, subject, names, LISTED_TYPES)


def _refusal(
    type: str, subject: str, names: SchemaNames, types: frozenset[str]
) -> tuple[str, str] | None:
    if type not in types:
        return "not-reusable", f"{type} is local to its question, never memory"
    why = names.refusal(subject)
    return ("schema-name", why) if why is not None else None
