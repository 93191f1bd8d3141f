"""Column lineage that names do not tell: which columns feed one of another name, or are new."""

from __future__ import annotations

from typing import Final

from memory_assets.defs.describe import Renamed

_EMBEDDED: Final = (
    *("type", "subject", "detail", "rationale", "question_context", "tables", "concepts"),
)

LEDGER_TO_EVENTS: Final[Renamed] = {
    "ref": ("seq",),
    "after_seq": ("seq", "after_seq"),
    "ts_note": ("ts",),
    "target": ("detail",),
}
EVENTS_TO_DECISIONS: Final[Renamed] = {
    "decision_seq": ("ref",),
    "decided_at": ("ts",),
    "in_force": ("type", "phase", "target"),
    "ended_by": ("ref", "target"),
    "ended_reason": ("type",),
    "verdict": ("type", "target"),
    "verdict_by": ("ref",),
    "refusal_code": ("type", "subject", "tables"),
    "refusal_reason": ("type", "subject", "tables"),
    "duplicate_key": ("subject", "detail"),
    "content_sha256": _EMBEDDED,
    "scope": ("user_id", "client_id", "audience"),
    "cites": ("rationale",),
}
DECISIONS_TO_CANDIDATES: Final[Renamed] = {
    "label": ("duplicate_key", "cites"),
    "route": ("verdict", "in_force"),
}
DECISIONS_TO_MEMORIES: Final[Renamed] = {
    "origin": ("verdict",),
    "edited_from": _EMBEDDED,
}
MEMORIES_TO_VECTORS: Final[Renamed] = {
    "row_key": ("tenant_id", "memory_id"),
    "text_sha256": _EMBEDDED,
    "vector": _EMBEDDED,
}
TO_INDEX: Final[Renamed] = {
    "row_key": ("tenant_id", "memory_id"),
    "folded": _EMBEDDED,
    "index_sha256": ("content_sha256", "decided_at", "user_id", "client_id", "audience"),
}
