"""The preview of one session: what a reviewer is offered, and what is refused and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from memory_assets.domain.boundaries import offer_refusal
from memory_assets.domain.candidates import Candidate, Refusal
from memory_assets.domain.events import format_ref
from memory_assets.domain.keys import cited_memories
from memory_assets.domain.personal import mask, masked, personal_text
from memory_assets.pipeline.inspect.sessions import SessionReading, find_session, read_session
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.ledgers.decide import content_hash


@dataclass(frozen=True, slots=True)
class SessionPreview:
    """What one session offers; no cap on candidates, every refusal with its reason."""

    tenant_id: str
    session_id: str
    finished: bool
    candidates: tuple[dict[str, Any], ...]
    refused: tuple[dict[str, Any], ...]
    needs_review: tuple[str, ...]
    """Why nothing of this session is promoted without a reviewer, or at all for now."""

    def to_dict(self) -> dict[str, Any]:
        """The preview as ``--json`` prints it."""
        return {
            "tenant_id": self.tenant_id,
            "session_id": self.session_id,
            "finished": self.finished,
            "needs_review": list(self.needs_review),
            "candidates": list(self.candidates),
            "refused": list(self.refused),
        }


def preview_session(
    workspace: Workspace,
    session_id: str,
    *,
    tenant_id: str | None = None,
    opened: int | None = None,
) -> SessionPreview:
    """The deterministic preview of a session, from its ledger and companion alone.

    Schema choices are never offered, whatever let them come so far: this boundary holds alone.
    Personal data is covered, except in the decision that is ``opened``.

    Raises:
        UnknownTenantError, UnknownSessionError, LedgerUnreadable: there is nothing to preview.
    """
    reading = read_session(workspace, find_session(workspace, session_id, tenant_id=tenant_id))
    found = reading.preview
    clients = workspace.client_names(reading.files.key[0])
    candidates: list[dict[str, Any]] = []
    refused = [_refusal(r, clients) for r in found.refused]
    for candidate in found.candidates:
        event = candidate.decision.event
        why = offer_refusal(event.type, event.subject, reading.names)
        if why is None:
            candidates.append(_offered(candidate, clients, opened))
        else:
            refused.append(_refusal(Refusal(candidate.decision, *why), clients))
    return SessionPreview(
        *reading.files.key,
        finished=reading.finished,
        candidates=tuple(candidates),
        refused=tuple(refused),
        needs_review=tuple(_reservations(reading)),
    )


def _offered(
    candidate: Candidate, client_names: Sequence[str], opened: int | None
) -> dict[str, Any]:
    event = candidate.decision.event
    shown = {
        "decision_seq": event.ref,
        "ref": format_ref(event.ref),
        "phase": event.phase,
        "type": event.type,
        "subject": event.subject,
        "detail": event.detail,
        "rationale": event.rationale,
        "question_context": event.question_context,
        "concepts": list(event.concepts),
        "decided_at": event.ts.isoformat(),
        "scope": dict(zip(("user_id", "client_id", "audience"), candidate.scope, strict=True)),
        "cites": list(cited_memories(event.rationale)),
        "equal_refs": [format_ref(r) for r in candidate.equal_refs],
        "content_sha256": content_hash(event),
    }
    personal = personal_text({**shown, "metadata": event.metadata}, client_names)
    covered = personal is not None and opened not in (event.ref, *candidate.equal_refs)
    if covered:
        shown = masked(shown, client_names)
    return {**shown, "personal": personal, "masked": covered}


def _refusal(refusal: Refusal, client_names: Sequence[str]) -> dict[str, Any]:
    event = refusal.decision.event
    return {
        "decision_seq": event.ref,
        "ref": format_ref(event.ref),
        "type": event.type,
        "subject": mask(event.subject, client_names),
        "code": refusal.code,
        "reason": mask(refusal.reason, client_names),
    }


def _reservations(reading: SessionReading) -> Iterable[str]:
    if reading.ledger.torn_tail is not None:
        yield "the last line is still being written: the session is not consolidated yet"
    elif not reading.session.finished:
        yield "the session is not closed: it is not consolidated yet"
    if reading.refused_lines:
        yield (
            f"{reading.refused_lines} refused line(s) could hide a withdrawal: only a reviewer "
            "can promote from this session until they are repaired"
        )
        marked = (r for r in reading.preview.refused if r.code == "promoted")
        if any((r.decision.verdict_by or 0) > 0 for r in marked):
            tenant, session = reading.files.key
            yield (
                "a marker of the ledger needs a reviewer's word, too: `memory-assets review list "
                f"--tenant {tenant} --session {session}` shows what still waits"
            )
