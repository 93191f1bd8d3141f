"""JSON Schema of a ledger row, derived from the event types and fields in ``domain.events``.

For people who write ledgers in any language. The schema is never stricter than the parser: a row
that the parser accepts is valid. What one row cannot show (order of ``seq``, references to earlier
rows, keys written twice, folder and file name) is stated in the descriptions and checked by the
parser alone.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from memory_assets.domain.events import EVENT_TYPES, EventType, RawRow
from memory_assets.domain.parsing import Origin

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
FIELD_MEANINGS: Final[dict[str, str]] = {
    "seq": "Number of the row: 1 or more, and above every earlier one of the file.",
    "ts": "When it happened: RFC 3339 with an offset, such as 2026-01-31T10:00:00Z. Without an "
    "offset it is taken as UTC and flagged; an integer is milliseconds since 1970.",
    "type": "What the row means; see the listed types. Any other one is kept, ignored and counted.",
    "session_id": "The file's name without .jsonl; may be left out.",
    "tenant_id": "The folder's name; may be left out.",
    "phase": "Phase of the session, from F1 (clarify) and F2 (reuse) to F8 (review).",
    "subject": "What the row is about: the concept, table or column.",
    "detail": "The definition itself; or, in a row that refers to another one, seq:N for row N of "
    "this file, m:N for row N of its companion file.",
    "rationale": "Why. A reuse cites the memory here, as mem-0001.",
    "question_context": "The question under work.",
    "tables": "Tables that the row names.",
    "concepts": "Concepts that the row names.",
    "user_id": "Whose session it is.",
    "client_id": "The client whom the row is about.",
    "audience": "Who may see it: tenant, client, user, or the client's own profile. Without it a "
    "row belongs to its client, else to its user, else to the tenant.",
    "source": "Where free text comes from.",
    "metadata": "Anything else, as an object; kept as it is.",
    "after_seq": "Companion rows only: the ledger row that this one follows in the replay.",
}
# An integer closer to zero could be seconds: neither schema nor parser guesses.
_EPOCH_MS_FLOOR: Final = 100_000_000_000
_TIME: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}"
_REFERENCE: Final = r"^\s*(seq|m):(?=[0-9]{1,15}\s*$)0*[1-9]"
_MEMORY: Final = r"^\s*mem-"


def ledger_row_schema(origin: Origin = "ledger") -> dict[str, Any]:
    """The JSON Schema (2020-12) of one row of a ledger, or of a companion file.

    The same call always gives the same value, key order included.
    """
    raw = msgspec.json.schema(RawRow)["$defs"]["RawRow"]
    properties = {
        name: {"description": FIELD_MEANINGS[name], **raw["properties"][name]}
        for name in RawRow.__struct_fields__
    }
    properties["ts"]["anyOf"] = [
        {"type": "string", "pattern": _TIME},
        {"type": "integer", "minimum": _EPOCH_MS_FLOOR},
        {"type": "integer", "maximum": -_EPOCH_MS_FLOOR},
    ]
    properties["type"]["anyOf"] = [
        *({"const": e.name, "description": e.meaning} for e in EVENT_TYPES.values()),
        {"description": "any other type: kept, ignored, counted"},
    ]
    required = list(raw["required"])
    if origin == "companion":
        required.append("after_seq")
    return {
        "$schema": DIALECT,
        "title": f"Row of a session's {'ledger' if origin == 'ledger' else 'companion file'}",
        "description": "One JSON object a line, UTF-8, each line ended by a line feed, rows only "
        "ever appended. No key appears twice, numbers are finite, texts hold no NUL character. "
        "Fields that are not listed here are kept.",
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": True,
        "allOf": [rule for e in EVENT_TYPES.values() for rule in _rules(e)],
    }


def _rules(event: EventType) -> list[dict[str, Any]]:
    """What rows of this type must hold beyond the common fields."""
    needs: dict[str, Any] = {}
    if event.phase_required:
        needs["phase"] = {"type": "string"}
    if event.reference is not None:
        patterns = [_REFERENCE]
        if event.reference == "decision_or_memory":
            patterns.append(_MEMORY)
        needs["detail"] = {"anyOf": [{"type": "string", "pattern": p} for p in patterns]}
    if not needs:
        return []
    return [
        {
            "if": {"properties": {"type": {"const": event.name}}, "required": ["type"]},
            "then": {"properties": needs, "required": list(needs)},
        }
    ]
