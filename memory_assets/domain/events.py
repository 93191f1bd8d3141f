"""The rows of a session ledger: event types, fields, references.

One place to extend: a new event type is one entry in :data:`EVENT_TYPES`. The parser, the replay,
the JSON Schema and the documentation tables derive from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET

PHASES: Final = ("F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8")
"""Phases of a session in order: F1 clarify, F2 reuse, … F8 review."""

SOURCES: Final = ("CHAT", "TOOL_OUT", "OBSERVATION", "DECISION")
AUDIENCES: Final = ("tenant", "client", "user", "profile")
"""Who may see a memory: the whole tenant, those who serve the client, the session's own user, or
(marked by a reviewer) the client as part of the own profile."""

REUSABLE_TYPES: Final = frozenset({"concept_clarified"})
"""The core rule: only clarified concepts can ever become memory."""

RefKind = Literal["decision", "decision_or_memory"]


@dataclass(frozen=True, slots=True)
class EventType:
    """What one ``type`` of row means to the replay."""

    name: str
    meaning: str
    decides: bool = False
    """The row is a decision: it can be withdrawn, and go stale when its phase is left."""
    marks: Literal["promoted", "declined"] | None = None
    """The row records a verdict on the decision that ``detail`` names."""
    reference: RefKind | None = None
    """What ``detail`` must hold: ``seq:N`` or ``m:N``, or also a memory id."""
    phase_required: bool = False


EVENT_TYPES: Final[dict[str, EventType]] = {
    e.name: e
    for e in (
        EventType(
            "concept_clarified",
            "A concept was clarified; the only reusable type.",
            decides=True,
            phase_required=True,
        ),
        EventType(
            "table_promoted",
            "A table was chosen for this question; never memory.",
            decides=True,
            phase_required=True,
        ),
        EventType(
            "table_excluded",
            "A table was ruled out for this question; never memory.",
            decides=True,
            phase_required=True,
        ),
        EventType(
            "column_promoted",
            "A column was chosen for this question; never memory.",
            decides=True,
            phase_required=True,
        ),
        EventType(
            "column_excluded",
            "A column was ruled out for this question; never memory.",
            decides=True,
            phase_required=True,
        ),
        EventType(
            "memory_event",
            "Free text with a source; the extractor makes candidate facts of it.",
            decides=True,
        ),
        EventType(
            "memory_promoted",
            "A reviewer accepted the decision named in detail.",
            marks="promoted",
            reference="decision",
        ),
        EventType(
            "memory_promotion_declined",
            "A reviewer declined the decision named in detail.",
            marks="declined",
            reference="decision",
        ),
        EventType(
            "memory_rejected",
            "Legacy, read and never written: seq:N counts as declined; a memory id is hidden from "
            "searches of this session.",
            marks="declined",
            reference="decision_or_memory",
        ),
        EventType(
            "memory_proposed",
            "An agent proposes to use a memory in this session; decides nothing.",
        ),
        EventType(
            "decision_withdrawn",
            "The row named in detail is no longer effective; a withdrawal can itself be withdrawn.",
            reference="decision",
        ),
        EventType(
            "phase_reopened",
            "Earlier decisions of later phases become stale; those of the phase itself stay.",
            phase_required=True,
        ),
        EventType(
            "phase_rolled_back",
            "Earlier decisions of this phase and of later ones become stale.",
            phase_required=True,
        ),
        EventType(
            "session_closed",
            "The session is finished, until a later ledger row reopens it.",
        ),
    )
}

DECISION_TYPES: Final = frozenset(n for n, e in EVENT_TYPES.items() if e.decides)
SCHEMA_TYPES: Final = frozenset(n for n in DECISION_TYPES if n.startswith(("table_", "column_")))
TABLE_TYPES: Final = frozenset(n for n in SCHEMA_TYPES if n.startswith("table_"))
COLUMN_TYPES: Final = frozenset(n for n in SCHEMA_TYPES if n.startswith("column_"))


Phase = Literal["F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8"]
Audience = Literal["tenant", "client", "user", "profile"]
Source = Literal["CHAT", "TOOL_OUT", "OBSERVATION", "DECISION"]
RowSeq = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]


class RawRow(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One ledger row as JSON holds it, types and ranges checked, before any interpretation.

    ``msgspec.UNSET`` is "not written", which lets the parser see that no key was written twice.
    """

    seq: RowSeq
    ts: str | int
    type: Annotated[str, msgspec.Meta(min_length=1)]
    session_id: str | msgspec.UnsetType = UNSET
    tenant_id: str | msgspec.UnsetType = UNSET
    phase: Phase | msgspec.UnsetType | None = UNSET
    subject: str | msgspec.UnsetType = UNSET
    detail: str | msgspec.UnsetType = UNSET
    rationale: str | msgspec.UnsetType = UNSET
    question_context: str | msgspec.UnsetType = UNSET
    tables: tuple[str, ...] | msgspec.UnsetType = UNSET
    concepts: tuple[str, ...] | msgspec.UnsetType = UNSET
    user_id: str | msgspec.UnsetType | None = UNSET
    client_id: str | msgspec.UnsetType | None = UNSET
    audience: Audience | msgspec.UnsetType | None = UNSET
    source: Source | msgspec.UnsetType | None = UNSET
    metadata: dict[str, Any] | msgspec.UnsetType = UNSET
    after_seq: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] | msgspec.UnsetType = UNSET


KNOWN_FIELDS: Final = frozenset(RawRow.__struct_fields__)


class LedgerEvent(msgspec.Struct, frozen=True, gc=False):
    """One accepted row of a session: of the ledger itself, or of its companion file."""

    row: RawRow
    tenant_id: str
    session_id: str
    ref: int
    """Place in its file: ``N`` for ledger row N, ``-N`` for row N of the companion file."""
    after_seq: int
    """Place in the replay: the ledger row that this one follows (its own seq in a ledger)."""
    ts: datetime
    ts_note: str
    """``naive`` or ``epoch_ms`` when the time was not RFC 3339 with an offset."""
    target: int | None
    """The ref that ``detail`` names, for rows that refer to another row."""
    line: int
    extra: str
    """JSON object with sorted keys: fields this version does not know; kept, never dropped."""

    @property
    def type(self) -> str:
        """The event's type."""
        return self.row.type

    @property
    def phase(self) -> Phase | None:
        """The phase the row belongs to, if it names one."""
        return self.row.phase or None

    @property
    def subject(self) -> str:
        """What the row is about."""
        return self.row.subject or ""

    @property
    def detail(self) -> str:
        """The definition, or the reference, that the row carries."""
        return self.row.detail or ""

    @property
    def rationale(self) -> str:
        """Why the row was written."""
        return self.row.rationale or ""

    @property
    def question_context(self) -> str:
        """The question under work when the row was written."""
        return self.row.question_context or ""

    @property
    def tables(self) -> tuple[str, ...]:
        """Tables that the row names."""
        return self.row.tables or ()

    @property
    def concepts(self) -> tuple[str, ...]:
        """Concepts that the row names."""
        return self.row.concepts or ()

    @property
    def metadata(self) -> str:
        """The row's metadata as a JSON object with sorted keys."""
        found = self.row.metadata
        return msgspec.json.encode(found, order="deterministic").decode() if found else "{}"

    @property
    def place(self) -> tuple[int, int]:
        """Sort key of the replay: companion rows come right after the ledger row they follow."""
        return (self.after_seq, max(0, -self.ref))


def format_ref(ref: int) -> str:
    """``seq:N`` for a ledger row, ``m:N`` for a row of the companion file."""
    return f"seq:{ref}" if ref > 0 else f"m:{-ref}"


def parse_ref(text: str) -> int | None:
    """The ref that ``seq:N`` or ``m:N`` names, or None when the text is neither."""
    head, _, number = text.strip().partition(":")
    if not (number.isascii() and number.isdigit() and 0 < len(number) < 16):
        return None
    n = int(number)
    if n == 0:
        return None
    return n if head == "seq" else -n if head == "m" else None
