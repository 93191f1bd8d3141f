"""A reviewer's verdict on one candidate, and when it may be applied."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal

import msgspec

from memory_assets.domain.promotion import PromotionKey

ReviewVerdict = Literal["accept", "decline", "defer", "duplicate_of"]
AGENT_PREFIX: Final = "agent:"
Text = Annotated[str, msgspec.Meta(min_length=1)]


class Edit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The reviewer's wording; the original stays on record."""

    subject: Text
    detail: Text
    rationale: str = ""


class ReviewDecision(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One line of the append-only review file."""

    tenant_id: Text
    session_id: Text
    decision_seq: int
    """N for ledger row N, -N for row N of the companion file."""
    fact_no: int = 0
    verdict: ReviewVerdict
    reviewer: Text
    decided_at: datetime
    content_sha256: Text
    """Hash of the content that the reviewer saw."""
    reason: str = ""
    edited: Edit | None = None
    """Accept with this wording instead."""
    memory_id: str | None = None
    """For ``duplicate_of``: the memory that says the same."""

    @property
    def key(self) -> PromotionKey:
        """The promotion key of the candidate."""
        return (self.tenant_id, self.session_id, self.decision_seq, self.fact_no)


def refusal(decision: ReviewDecision, seen: Any, *, now: datetime) -> tuple[str, str] | None:
    """(code, reason) why a review decision is not applied; None when it is sound.

    ``seen`` is the row of the ``decisions`` table under its key, or None. The same rule judges
    what the commands write and what somebody wrote into the file by hand.
    """
    if decision.reviewer.strip().startswith(AGENT_PREFIX) or not decision.reviewer.strip():
        return "not-a-reviewer", f"{decision.reviewer!r} is no reviewer: agents never promote"
    if decision.decided_at.tzinfo is None:
        return "bad-time", "decided_at has no time zone"
    if decision.decided_at > now:
        return "from-the-future", f"decided_at {decision.decided_at.isoformat()} lies ahead of now"
    if (decision.verdict == "duplicate_of") != (decision.memory_id is not None):
        return "bad-verdict", "memory_id belongs to duplicate_of, and only to it"
    if decision.edited is not None and decision.verdict != "accept":
        return "bad-verdict", "only an accept can carry an edit"
    if seen is None:
        return "unknown-item", "no decision of a ledger has this key"
    if decision.verdict != "decline" and seen["refusal_code"] is not None:
        return "not-offered", f"the preview does not offer it: {seen['refusal_reason']}"
    if seen["content_sha256"] and seen["content_sha256"] != decision.content_sha256:
        return "changed-since", "the candidate is not what the reviewer saw; look at it again"
    return None
