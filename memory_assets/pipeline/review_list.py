"""The queue as people read it: what waits, what was decided, and lines that do not count."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl

from memory_assets.domain.events import format_ref
from memory_assets.domain.visibility import Principal, rule_for
from memory_assets.errors import UsageError
from memory_assets.pipeline.browse import plain
from memory_assets.pipeline.consolidate import Assessment
from memory_assets.pipeline.review_items import ItemRef, item_id, parse_items
from memory_assets.pipeline.tenants import require_tenant
from memory_assets.pipeline.workspace import Workspace

STATES: Final[Mapping[str, tuple[str, ...]]] = {
    "waiting": ("review",),
    "deferred": ("deferred",),
    "accepted": ("accepted",),
    "declined": ("declined",),
    "all": ("review", "deferred", "accepted", "declined"),
}
"""What ``--state`` may say → routes. Accepted means: on record, published by the next run."""
_WAITING: Final = ("review", "deferred")
_CONTENT: Final = ("subject", "detail", "rationale", "question_context")


@dataclass(frozen=True, slots=True)
class QueueFilter:
    """Which items are meant; what is left out does not narrow."""

    tenant_id: str
    session_id: str | None = None
    label: str | None = None
    """The first word or words of the label: new, duplicate, refines, conflicts, contained."""
    state: str = "pending"
    older_than: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Queue:
    """Items in the order of their sessions, and what waits in all."""

    items: tuple[dict[str, Any], ...]
    waiting: int
    """Items of the tenant that wait, shown or not."""
    oldest: datetime | None

    def to_dict(self) -> dict[str, Any]:
        """The queue as ``--json`` prints it."""
        return {
            "items": list(self.items),
            "waiting": self.waiting,
            "oldest": self.oldest.isoformat() if self.oldest else None,
        }


def review_queue_of(
    workspace: Workspace,
    principal: Principal,
    wanted: QueueFilter,
    *,
    now: datetime,
    assessment: Assessment | None = None,
) -> Queue:
    """The items that the principal may see, without a cap.

    Raises:
        UnknownTenantError, AccessDenied: the principal may not review that tenant.
    """
    rule = rule_for(principal, wanted.tenant_id, "review")
    found = assessment or workspace.assess(now=now)
    rows = _shown(found, wanted.state).filter(rule.expr())
    waiting = found.candidates.filter(rule.expr())
    if wanted.session_id is not None:
        rows = rows.filter(pl.col("session_id") == wanted.session_id)
    if wanted.label is not None:
        rows = rows.filter(pl.col("label").str.starts_with(wanted.label))
    if wanted.older_than is not None:
        rows = rows.filter(pl.col("decided_at") <= now - wanted.older_than)
    items = tuple(item_of(row) for row in rows.to_dicts())
    oldest = waiting["decided_at"].min()
    return Queue(items, waiting.height, oldest if isinstance(oldest, datetime) else None)


def queues_of(
    workspace: Workspace,
    tenant_id: str | None,
    wanted: Callable[[str], QueueFilter],
    *,
    now: datetime,
) -> list[Queue]:
    """The queue of one tenant, or of each tenant that has clarifications; for local use.

    Raises:
        UnknownTenantError: nothing is known of the tenant.
    """
    found = workspace.assess(now=now)
    if tenant_id is not None:
        tenants = [require_tenant(workspace, tenant_id)]
    else:
        tenants = found.routes["tenant_id"].unique().sort().to_list()
    return [
        review_queue_of(workspace, Principal.local(t), wanted(t), now=now, assessment=found)
        for t in tenants
    ]


def show_item(
    workspace: Workspace,
    item: str,
    *,
    tenant_id: str | None = None,
    session_id: str | None = None,
    now: datetime,
    principal: Principal | None = None,
) -> dict[str, Any]:
    """One item in full, whatever its state.

    Raises:
        UsageError: the text names no item, or there is no such item for the principal.
    """
    named = parse_items([item], tenant_id=tenant_id, session_id=session_id)
    one = named[0]
    if len(named) == 1 and isinstance(one, ItemRef):
        rule = rule_for(principal or Principal.local(one.tenant_id), one.tenant_id, "review")
        rows = workspace.assess(now=now).routes.filter(
            tenant_id=one.tenant_id,
            session_id=one.session_id,
            decision_seq=one.decision_seq,
            fact_no=one.fact_no,
        )
        if rows.height and rule.allows(rows.row(0, named=True)):
            row = rows.row(0, named=True)
            why = row["refusal_reason"]
            return {**item_of(row), "memory_id": row["settled_in"], "not_offered": why}
    raise UsageError(
        f"There is no item {item!r} as of the last night.",
        remedy="`memory-assets review list --state all` shows every item.",
    )


def _shown(found: Assessment, state: str) -> pl.DataFrame:
    if state == "pending":
        return found.candidates
    return found.routes.filter(pl.col("route").is_in(STATES[state]))


def item_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """One item as JSON: its id, state, label, content and what was said about it."""
    key = (row["tenant_id"], row["session_id"], row["decision_seq"], row["fact_no"])
    state = {"review": "waiting"}.get(row["route"], row["route"])
    found = {
        "item_id": item_id(*key),
        "kind": "candidate",
        "state": state,
        "label": row["label"],
        "tenant_id": row["tenant_id"],
        "session_id": row["session_id"],
        "decision_seq": row["decision_seq"],
        "ref": format_ref(row["decision_seq"]),
        **{name: row[name] for name in _CONTENT},
        "concepts": list(row["concepts"]),
        "decided_at": row["decided_at"],
        "user_id": row["user_id"],
        "client_id": row["client_id"],
        "audience": row["audience"],
        "cites": list(row["cites"]),
        "fail_closed": bool(row["fail_closed"]),
        "content_sha256": row["content_sha256"],
        "verdict": row["review_verdict"],
        "reviewer": row["reviewer"],
        "reviewed_at": row["reviewed_at"],
        "reason": row["review_reason"],
    }
    return plain(found)


def refused_lines_of_review(found: Assessment) -> list[dict[str, Any]]:
    """Lines of the review file that do not count, each with its reason and its own text."""
    return [
        {
            "line": refused.line,
            "code": refused.code,
            "reason": refused.reason,
            "raw": refused.raw.decode("utf-8", "replace").strip(),
        }
        for refused in sorted(found.refused_reviews, key=lambda r: r.line)
    ]


def overridden_lines(found: Assessment) -> Sequence[dict[str, int]]:
    """Lines that a later verdict on the same item replaced: history, no fault."""
    return [{"line": o.line, "by_line": o.by_line} for o in found.overridden_reviews]
