"""Feedback about memories: an item for the reviewer, never a change by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from memory_assets.domain.review import AGENT_PREFIX
from memory_assets.domain.visibility import Principal
from memory_assets.errors import AccessDenied, UsageError
from memory_assets.steps.search.lookup import find_memory
from memory_assets.steps.search.searcher import Searcher
from memory_assets.storage.feedback_log import (
    KINDS,
    Feedback,
    FeedbackKind,
    Settled,
    append_feedback,
    read_feedback,
)


@dataclass(frozen=True, slots=True)
class FeedbackItem:
    """One item of the review queue: what was said about a memory, and what the memory says."""

    feedback: Feedback
    subject: str
    detail: str
    status: str
    """active, superseded or retired."""
    settled: Settled | None = None

    def to_dict(self) -> dict[str, Any]:
        """The item as ``--json`` prints it."""
        given = self.feedback
        return {
            "feedback_id": given.feedback_id,
            "tenant_id": given.tenant_id,
            "memory_id": given.memory_id,
            "kind": given.kind,
            "why": given.why,
            "given_by": given.given_by,
            "given_at": given.given_at.isoformat(),
            "subject": self.subject,
            "detail": self.detail,
            "status": self.status,
            "settled_by": self.settled.reviewer if self.settled else None,
            "outcome": self.settled.outcome if self.settled else None,
        }


def feedback_path(home_root: Path) -> Path:
    """Where feedback is kept: beside the review decisions."""
    return home_root / "review" / "feedback.jsonl"


def give_feedback(
    searcher: Searcher,
    principal: Principal,
    memory_id: str,
    *,
    tenant_id: str | None,
    kind: FeedbackKind,
    why: str,
    given_by: str,
    now: datetime,
) -> Feedback:
    """The item that now waits for a reviewer; saying the same again adds nothing.

    Useful or not, it counts as no use: the score does not move until a reviewer acts.

    Raises:
        UnknownMemoryError, UnknownTenantError, AccessDenied: nothing the principal could judge.
        UsageError: the kind is unknown, or no reason was given.
    """
    if kind not in KINDS:
        raise UsageError(f"{kind!r} is no kind of feedback.", remedy=f"use {', '.join(KINDS)}.")
    if not why.strip():
        raise UsageError("Feedback needs a reason.", remedy="say why in a few words.")
    found = find_memory(searcher, principal, memory_id, tenant_id=tenant_id, path="show")
    item = Feedback(
        tenant_id=str(found.row["tenant_id"]),
        memory_id=memory_id,
        kind=kind,
        why=why.strip(),
        given_by=given_by,
        given_at=now,
        content_sha256=str(found.row["content_sha256"]),
    )
    path = feedback_path(searcher.store.home.root)
    log = read_feedback(path)
    known = {i.feedback_id: i for i in log.items}
    if item.feedback_id in known:
        return known[item.feedback_id]
    append_feedback(path, item)
    return item


def feedback_items(
    searcher: Searcher,
    principal: Principal,
    *,
    tenant_id: str | None = None,
    with_settled: bool = False,
) -> list[FeedbackItem]:
    """The items about memories that the principal may see, oldest first.

    Raises:
        UnknownTenantError, AccessDenied: see ``domain.visibility``.
    """
    served = searcher.served()
    tenant = principal.tenant if tenant_id is None else tenant_id
    rule = searcher.rule(principal, tenant, "review", served)
    log = read_feedback(feedback_path(searcher.store.home.root))
    rows: dict[str, Mapping[str, Any]] = (
        {
            row["memory_id"]: row
            for row in served.everything.filter(rule.expr()).iter_rows(named=True)
        }
        if log.items
        else {}
    )
    return [
        FeedbackItem(
            item,
            rows[item.memory_id]["subject"],
            rows[item.memory_id]["detail"],
            rows[item.memory_id]["status"],
            log.settled.get(item.feedback_id),
        )
        for item in log.items
        if item.tenant_id == tenant
        and item.memory_id in rows
        and (with_settled or item.feedback_id not in log.settled)
    ]


def settle_feedback(
    searcher: Searcher,
    principal: Principal,
    feedback_id: str,
    *,
    tenant_id: str | None = None,
    reviewer: str,
    outcome: str,
    now: datetime,
) -> None:
    """Takes an item off the list; what follows from it is decided and recorded elsewhere.

    Raises:
        AccessDenied: an agent, or a persona that does not review.
        UsageError: no open item has this id.
    """
    if not reviewer.strip() or reviewer.strip().startswith(AGENT_PREFIX):
        raise AccessDenied(f"{reviewer!r} is no reviewer.", remedy="name the person.")
    waiting = feedback_items(searcher, principal, tenant_id=tenant_id)
    if feedback_id not in {i.feedback.feedback_id for i in waiting}:
        raise UsageError(
            f"No feedback {feedback_id!r} waits here.", remedy="list it with `feedback --list`."
        )
    line = Settled(
        feedback_id=feedback_id, reviewer=reviewer.strip(), settled_at=now, outcome=outcome
    )
    append_feedback(feedback_path(searcher.store.home.root), line)
