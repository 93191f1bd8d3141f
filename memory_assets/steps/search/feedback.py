"""Feedback about memories: an item for the reviewer, never a change by itself."""

from __future__ import annotations

from datetime import datetime

from memory_assets.domain.said import LONGEST_NAME, LONGEST_REASON, checked
from memory_assets.domain.visibility import Principal
from memory_assets.errors import UsageError
from memory_assets.steps.search.lookup import find_memory
from memory_assets.steps.search.searcher import Searcher
from memory_assets.storage.feedback_log import (
    KINDS,
    Feedback,
    FeedbackKind,
    append_feedback,
    read_feedback,
)


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
        UsageError: the kind is unknown, or no reason or nobody's name was given.
    """
    if kind not in KINDS:
        raise UsageError(f"{kind!r} is no kind of feedback.", remedy=f"use {', '.join(KINDS)}.")
    why = checked("reason", why, longest=LONGEST_REASON, remedy="say why in a few words.")
    given_by = checked("name", given_by, longest=LONGEST_NAME, remedy="say who says so.")
    found = find_memory(searcher, principal, memory_id, tenant_id=tenant_id, path="show")
    item = Feedback(
        tenant_id=str(found.row["tenant_id"]),
        memory_id=memory_id,
        kind=kind,
        why=why,
        given_by=given_by,
        given_at=now,
        content_sha256=str(found.row["content_sha256"]),
    )
    path = searcher.store.home.feedback
    log = read_feedback(path)
    known = {i.feedback_id: i for i in log.items}
    if item.feedback_id in known:
        return known[item.feedback_id]
    append_feedback(path, item)
    return item
