"""A session's memories as its summary shows them: projected on read, nothing is rewritten."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from memory_assets.domain.boundaries import listing_refusal
from memory_assets.domain.effective import DecisionState
from memory_assets.domain.events import format_ref
from memory_assets.domain.visibility import Principal, rule_for
from memory_assets.pipeline.inspect.sessions import SessionReading, find_session, read_session
from memory_assets.pipeline.workspace import Workspace

APPROVED: Final = "approved"
DECLINED: Final = "declined"
_STATUS: Final = {"promoted": APPROVED, "declined": DECLINED}


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """What became of a session's clarifications: approved ones first, then declined ones."""

    tenant_id: str
    session_id: str
    finished: bool
    memories: tuple[dict[str, Any], ...]
    waiting: int
    """Candidates that nobody has decided on."""
    hidden: tuple[dict[str, Any], ...]
    """Rows with a verdict that are no memories, and why; none of their content."""

    def to_dict(self) -> dict[str, Any]:
        """The summary as ``--json`` prints it."""
        return {
            "tenant_id": self.tenant_id,
            "session_id": self.session_id,
            "finished": self.finished,
            "memories": list(self.memories),
            "waiting": self.waiting,
            "hidden": list(self.hidden),
        }


def summarise(
    workspace: Workspace,
    session_id: str,
    *,
    tenant_id: str | None = None,
    principal: Principal | None = None,
) -> SessionSummary:
    """The summary of one session, from its ledger and companion as they are now.

    ``seq:N`` of each marker is resolved to the row it names. The fifth boundary: whatever let a
    schema choice come so far, it is not shown here; names of tables and fields inside an
    explanation stay.

    Raises:
        UnknownTenantError, UnknownSessionError, LedgerUnreadable: there is nothing to summarise.
        AccessDenied: the principal may not read summaries of that tenant.
    """
    files = find_session(workspace, session_id, tenant_id=tenant_id)
    rule = rule_for(principal or Principal.local(files.tenant_id), files.tenant_id, "summary")
    reading = read_session(workspace, files)
    published = _published(workspace, files.key)
    shown: list[dict[str, Any]] = []
    hidden: list[dict[str, Any]] = []
    for decision in _marked(reading):
        event = decision.event
        why = listing_refusal(event.type, event.subject, reading.names)
        if why is not None:
            hidden.append({"ref": format_ref(event.ref), "code": why[0], "reason": why[1]})
        elif rule.allows(_owners(decision)):
            shown.append(_shown(decision, reading, published.get(event.ref)))
    shown.sort(key=lambda memory: memory["status"] != APPROVED)
    return SessionSummary(
        *files.key,
        finished=reading.finished,
        memories=tuple(shown),
        waiting=sum(
            listing_refusal(c.decision.event.type, c.decision.event.subject, reading.names) is None
            and rule.allows(_owners(c.decision))
            for c in reading.preview.candidates
        ),
        hidden=tuple(hidden),
    )


def _marked(reading: SessionReading) -> Iterator[DecisionState]:
    return (d for d in reading.session.decisions if d.verdict is not None)


def _owners(decision: DecisionState) -> dict[str, Any]:
    event = decision.event
    return {
        "tenant_id": event.tenant_id,
        "user_id": event.row.user_id or None,
        "client_id": event.row.client_id or None,
        "audience": event.row.audience or None,
    }


def _published(workspace: Workspace, session: tuple[str, str]) -> dict[int, str]:
    """The memory that each decision of the session made, or was seen again in."""
    settled = workspace.registry().settled_keys()
    own = settled.filter(
        pl.col("tenant_id") == session[0],
        pl.col("session_id") == session[1],
        pl.col("fact_no") == 0,
    )
    return dict(own.drop_nulls("memory_id").select("decision_seq", "memory_id").rows())


def _shown(
    decision: DecisionState, reading: SessionReading, memory_id: str | None
) -> dict[str, Any]:
    event = decision.event
    marker = next(
        (
            e
            for e in (*reading.ledger.events, *reading.companion.events)
            if e.ref == decision.verdict_by
        ),
        None,
    )
    return {
        "status": _STATUS[decision.verdict or ""],
        "ref": format_ref(event.ref),
        "decision_seq": event.ref,
        "subject": event.subject,
        "detail": event.detail,
        "rationale": event.rationale,
        "memory_id": memory_id if decision.verdict == "promoted" else None,
        "marked_by": format_ref(decision.verdict_by or 0),
        "marked_at": marker.ts.isoformat() if marker is not None else None,
        "in_force": decision.in_force,
        "ended_by": format_ref(decision.ended_by) if decision.ended_by is not None else None,
    }
