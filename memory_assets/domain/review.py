"""A reviewer's verdict on one item of the queue, and when it may be applied.

The third of the five boundaries that keep schema choices out of memory. It stands alone: it has a
list of types of its own, and it judges again what preview and core rule let through, the
reviewer's own wording and lines written by hand included.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Literal

import msgspec

from memory_assets.domain.candidates import SchemaNames
from memory_assets.domain.promotion import PromotionKey
from memory_assets.domain.said import LONGEST_NAME

ReviewVerdict = Literal["accept", "decline", "defer", "duplicate_of", "reopen"]
ProposalVerdict = Literal["accept", "decline", "defer", "reopen"]
REVIEWABLE_TYPES: Final = frozenset({"concept_clarified"})
"""What a reviewer may be shown, and may accept."""
AGENT_PREFIX: Final = "agent:"
_NO_PEOPLE: Final = ("agent", "assistant", "bot", "llm", "model", "policy", "rule", "system")
# `agent-7` and `bot 2`, but not Agenta; `bot`, `model` and `rule` are also what people are called.
_BEGINS: Final = re.compile(
    r"(?:agent|assistant|llm|policy|system)(?![^\W\d_])"
    r"|(?:bot|model|rule)(?!\s*[.,\s]?\s*[^\W\d_])"
)
_ENDS: Final = re.compile(r"[-_/\[(](?:agent|assistant|bot|llm)[\])]?\d*$")
SKEW: Final = timedelta(minutes=2)
"""How far the clocks of two machines may lie apart before a verdict counts as from the future."""
Text = Annotated[str, msgspec.Meta(min_length=1)]
Refusal = tuple[str, str]
"""(stable code, reason in words)."""


class Edit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The reviewer's wording; the original stays on record."""

    subject: Text
    detail: Text
    rationale: str = ""


class ReviewDecision(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One line of the append-only review file: a verdict on a candidate.

    ``reopen`` takes back what was said before: the item waits again.
    """

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

    @property
    def said(self) -> tuple[object, ...]:
        """What the verdict comes to: two lines of one instant that differ in it contradict."""
        return (self.verdict, self.edited, self.memory_id)


class ProposalDecision(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One line of the same file: a verdict on a proposal about published memories."""

    tenant_id: Text
    proposal: Text
    """The proposal's id below its tenant, such as ``retire:mem-0003``."""
    verdict: ProposalVerdict
    reviewer: Text
    decided_at: datetime
    content_sha256: Text
    """Hash of the proposal that the reviewer saw."""
    reason: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """The proposal."""
        return (self.tenant_id, self.proposal)

    @property
    def said(self) -> tuple[object, ...]:
        """What the verdict comes to."""
        return (self.verdict,)


def reviewer_refusal(reviewer: str) -> Refusal | None:
    """Why nobody reviews under this name; None when it may be a person's.

    Compared without case, white space and invisible characters, so that no agent slips through as
    ``Agent: x``, ``agent-7`` or ``review-bot``.
    """
    flat = unicodedata.normalize("NFKC", reviewer).casefold()
    seen = "".join(c for c in flat if unicodedata.category(c) not in ("Cf", "Cc")).strip()
    name = "".join(c for c in seen if unicodedata.category(c) != "Zs")
    if not name:
        return "not-a-reviewer", "no reviewer is named"
    if name.partition(":")[0] in _NO_PEOPLE or _BEGINS.match(seen) or _ENDS.search(seen):
        return "not-a-reviewer", f"{reviewer!r} is no reviewer: agents and rules never promote"
    if len(seen) > LONGEST_NAME:
        return "not-a-reviewer", f"a name has at most {LONGEST_NAME} characters"
    if any(unicodedata.category(c) == "Cc" for c in reviewer.strip()):
        return "not-a-reviewer", f"{reviewer!r} holds control characters"
    return None


def review_refusal(type: str, subject: str, names: SchemaNames) -> Refusal | None:
    """Why a reviewer is never shown a decision, and may not accept it; None when it may be.

    This is the review boundary: queue and applier both ask it, whoever let the row come so far.
    """
    if type not in REVIEWABLE_TYPES:
        return "not-reusable", f"{type} is local to its question, never memory"
    why = names.refusal(subject)
    return ("schema-name", why) if why is not None else None


def line_refusal(line: ReviewDecision | ProposalDecision, *, now: datetime) -> Refusal | None:
    """Why a line cannot count, whatever it is about; None when its form is sound."""
    why = reviewer_refusal(line.reviewer)
    if why is not None:
        return why
    if any("\0" in text for text in _texts(line)):
        return "bad-line", "a text holds a NUL character"
    if line.decided_at.tzinfo is None:
        return "bad-time", "decided_at has no time zone"
    if line.decided_at > now + SKEW:
        return "from-the-future", f"decided_at {line.decided_at.isoformat()} lies ahead of now"
    if isinstance(line, ReviewDecision):
        if (line.verdict == "duplicate_of") != (line.memory_id is not None):
            return "bad-verdict", "memory_id belongs to duplicate_of, and only to it"
        if line.edited is not None and line.verdict != "accept":
            return "bad-verdict", "only an accept can carry an edit"
    return None


def _texts(line: ReviewDecision | ProposalDecision) -> tuple[str, ...]:
    edit = line.edited if isinstance(line, ReviewDecision) else None
    return (
        (line.reason,) if edit is None else (line.reason, edit.subject, edit.detail, edit.rationale)
    )


def refusal(
    decision: ReviewDecision,
    seen: Mapping[str, Any] | None,
    *,
    now: datetime,
    names: SchemaNames | None = None,
) -> Refusal | None:
    """(code, reason) why a review decision is not applied; None when it is sound.

    ``seen`` is the row of the ``decisions`` table under its key, or None; ``names`` what counts as
    a bare schema name in its session. The same rule judges what the commands write and what
    somebody wrote into the file by hand.
    """
    why = line_refusal(decision, now=now)
    if why is not None:
        return why
    if seen is None:
        return "unknown-item", "no decision of a ledger has this key"
    if seen["content_sha256"] and seen["content_sha256"] != decision.content_sha256:
        return "changed-since", "the candidate is not what the reviewer saw; look at it again"
    if decision.verdict in ("accept", "duplicate_of"):
        return _acceptance_refusal(decision, seen, names or SchemaNames())
    return None


def _acceptance_refusal(
    decision: ReviewDecision, seen: Mapping[str, Any], names: SchemaNames
) -> Refusal | None:
    if seen["refusal_code"] is not None:
        return "not-offered", f"the preview does not offer it: {seen['refusal_reason']}"
    why = review_refusal(seen["type"], seen["subject"], names)
    if why is not None:
        return "not-offered", f"it is no memory: {why[1]}"
    edit = decision.edited
    if edit is not None:
        if not edit.subject.strip() or not edit.detail.strip():
            return "bad-edit", "the new subject or detail is empty"
        why = review_refusal(seen["type"], edit.subject, names)
        if why is not None:
            return "bad-edit", f"the new wording is no memory: {why[1]}"
    return None
