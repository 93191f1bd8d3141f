"""Accepting what one session offers, by its ledger alone: for those who know `tht memory`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import polars as pl

from memory_assets.domain.review import ReviewDecision, line_refusal
from memory_assets.errors import UsageError
from memory_assets.pipeline.inspect.preview import SessionPreview, preview_session
from memory_assets.pipeline.review.decide import TICK, RefusedVerdict, require_reviewer
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.review.items import item_id
from memory_assets.storage.review_log import append_review_decisions

_ACCEPTS: Final = ("accept", "duplicate_of")


@dataclass(frozen=True, slots=True)
class Saved:
    """What was accepted; it is a memory once the next run has published it."""

    tenant_id: str
    session_id: str
    accepted: tuple[dict[str, Any], ...]
    refused: tuple[RefusedVerdict, ...] = ()
    notes: tuple[str, ...] = ()
    waits: bool = False
    """Whether the session is still open: what was accepted is applied once it is finished."""

    def to_dict(self) -> dict[str, Any]:
        """The outcome as ``--json`` prints it."""
        return {
            "tenant_id": self.tenant_id,
            "session_id": self.session_id,
            "saved": list(self.accepted),
            "refused": [refused.to_dict() for refused in self.refused],
            "notes": list(self.notes),
        }

    def published(self, workspace: Workspace) -> Saved:
        """The same with the ids of the memories, as far as they are published now."""
        settled = workspace.registry().settled_keys()
        here = settled.filter(
            pl.col("tenant_id") == self.tenant_id, pl.col("session_id") == self.session_id
        )
        ids = dict(here.select("decision_seq", "memory_id").rows())
        rows = tuple({**row, "memory_id": ids.get(row["seq"])} for row in self.accepted)
        return replace(self, accepted=rows)


def save_session(
    workspace: Workspace,
    session_id: str,
    *,
    tenant_id: str | None = None,
    seq: int | None = None,
    reviewer: str,
    now: datetime,
    reason: str = "",
) -> Saved:
    """Accepts what the session's preview offers: all of it, or the decision ``seq``.

    What holds personal data, or what somebody declined, is refused unless it is named: all of it
    is not a look at each. What is accepted already stays as it was accepted. Only what the preview
    offers now, only for a reviewer, never for an agent. The preview reads ledger and companion as
    they are, so a session that no night has read yet will do.

    Raises:
        AccessDenied: the reviewer is no person.
        UsageError: the preview does not offer that decision; its reason is in the message.
        UnknownSessionError, UnknownTenantError: there is no such session.
    """
    name = require_reviewer(reviewer)
    preview = preview_session(workspace, session_id, tenant_id=tenant_id)
    offered = [c for c in preview.candidates if seq is None or _stands_for(c, seq)]
    if seq is not None and not offered:
        raise _not_offered(preview, seq)
    said = _standing(workspace, preview, now)
    refused, notes, lines = [], [], []
    for candidate in list(offered):
        ref = item_id(preview.tenant_id, preview.session_id, candidate["decision_seq"])
        stands = said.get((candidate["decision_seq"], candidate["content_sha256"]))
        why = None if seq is not None else _unseen(candidate, stands)
        if why is not None:
            offered.remove(candidate)
            refused.append(RefusedVerdict(ref, *why))
            continue
        if seq is None and stands is not None and stands.verdict in _ACCEPTS:
            continue
        if stands is not None and stands.verdict == "decline":
            notes.append(f"{ref}: {stands.reviewer} declined it; that is replaced")
        lines.append(
            ReviewDecision(
                tenant_id=preview.tenant_id,
                session_id=preview.session_id,
                decision_seq=candidate["decision_seq"],
                verdict="accept",
                reviewer=name,
                decided_at=now if stands is None else max(now, stands.decided_at + TICK),
                content_sha256=candidate["content_sha256"],
                reason=reason,
            )
        )
    append_review_decisions(workspace.home.review_decisions, lines)
    saved = tuple(
        {
            "seq": candidate["decision_seq"],
            "ref": candidate["ref"],
            "item_id": item_id(preview.tenant_id, preview.session_id, candidate["decision_seq"]),
            "subject": candidate["subject"],
            "memory_id": None,
        }
        for candidate in offered
    )
    if saved and not preview.finished:
        notes.append("the session is still open: this is applied once it is finished")
    place = preview.tenant_id, preview.session_id
    return Saved(*place, saved, tuple(refused), tuple(notes), waits=not preview.finished)


def _standing(
    workspace: Workspace, preview: SessionPreview, now: datetime
) -> dict[tuple[int, str], ReviewDecision]:
    """The latest verdict of the review file on each content of this session's rows."""
    found: dict[tuple[int, str], ReviewDecision] = {}
    place = preview.tenant_id, preview.session_id
    for _, line in workspace.review_log().decisions:
        if (line.tenant_id, line.session_id) != place or line_refusal(line, now=now) is not None:
            continue
        key = line.decision_seq, line.content_sha256
        if key not in found or found[key].decided_at <= line.decided_at:
            found[key] = line
    return found


def _unseen(candidate: dict[str, Any], stands: ReviewDecision | None) -> tuple[str, str] | None:
    """Why a candidate is accepted only by somebody who names it."""
    if stands is not None and stands.verdict == "decline":
        why = f": {stands.reason}" if stands.reason else ""
        return "declined", f"{stands.reviewer} declined it{why}; to accept it, save it by its seq"
    if candidate["personal"]:
        why = f"it holds personal data ({candidate['personal']})"
        look = f"preview --seq {candidate['decision_seq']}"
        return "personal-data", f"{why}: look at it (`{look}`), then save it by its seq"
    return None


def _stands_for(candidate: dict[str, Any], seq: int) -> bool:
    return candidate["decision_seq"] == seq or f"seq:{seq}" in candidate["equal_refs"]


def _not_offered(preview: SessionPreview, seq: int) -> UsageError:
    why = next(
        (refusal["reason"] for refusal in preview.refused if refusal["decision_seq"] == seq),
        "it is no decision of this session",
    )
    return UsageError(
        f"seq:{seq} is not offered: {why}.",
        where=f"{preview.tenant_id}/{preview.session_id}",
        remedy="`memory-assets promote --preview` shows what the session offers.",
    )
