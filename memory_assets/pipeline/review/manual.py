"""Memories that a person enters by hand: a small session of its own, filtered and reviewed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memory_assets.domain.candidates import SchemaNames
from memory_assets.domain.events import Audience
from memory_assets.domain.manual import ORIGIN, manual_session
from memory_assets.domain.review import review_refusal
from memory_assets.errors import UsageError
from memory_assets.pipeline.inspect.sessions import find_sessions
from memory_assets.pipeline.inspect.tenants import require_tenant
from memory_assets.pipeline.review.decide import require_reviewer
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.review.items import item_id
from memory_assets.storage.ledger_writer import LedgerWriter


@dataclass(frozen=True, slots=True)
class ManualEntry:
    """What was entered, and where it waits now."""

    tenant_id: str
    session_id: str
    item_id: str
    policy: str
    """The tenant's review policy: with ``automatic`` the next run publishes it."""

    def to_dict(self) -> dict[str, Any]:
        """The entry as ``--json`` prints it."""
        return {
            "tenant_id": self.tenant_id,
            "session_id": self.session_id,
            "item_id": self.item_id,
            "policy": self.policy,
        }


def add_by_hand(
    workspace: Workspace,
    *,
    tenant_id: str | None,
    subject: str,
    detail: str,
    rationale: str = "",
    concepts: Sequence[str] = (),
    user_id: str | None = None,
    client_id: str | None = None,
    audience: Audience | None = None,
    entered_by: str,
    now: datetime,
    suffix: str,
) -> ManualEntry:
    """The entry, on record as a finished session of one clarification.

    Ledgers are the only way in, so replay, review and rebuild treat it like everything else; its
    memory gets the origin ``manual``. ``suffix`` keeps entries of one second apart.

    Raises:
        UnknownTenantError: nothing is known of the tenant.
        AccessDenied: an agent enters it.
        UsageError: it is empty, a bare schema name, or meant for somebody who is not named.
        StoreWriteFailed: the ledgers folder cannot be written.
    """
    by = require_reviewer(entered_by)
    tenant = _tenant(workspace, tenant_id)
    if not subject.strip() or not detail.strip():
        raise UsageError("A memory needs a subject and a detail.", remedy="give both.")
    names = SchemaNames(workspace.tenant_rules(tenant).patterns)
    _check_audience(audience, user_id, client_id)
    why = review_refusal("concept_clarified", subject, names)
    if why is not None:
        raise UsageError(
            f"This is no memory: {why[1]}.",
            remedy="name the concept; tables and columns may stand in the detail.",
        )
    session = manual_session(now, suffix)
    with LedgerWriter(workspace.settings.ledgers, tenant, session, clock=lambda: now) as ledger:
        seq = ledger.append(
            "concept_clarified",
            phase="F1",
            subject=subject,
            detail=detail,
            rationale=rationale,
            concepts=list(concepts),
            user_id=user_id,
            client_id=client_id,
            audience=audience,
            source="DECISION",
            metadata={"origin": ORIGIN, "entered_by": by},
        )
        ledger.append("session_closed", phase="F8")
    policy = workspace.settings.tenant(tenant).review
    return ManualEntry(tenant, session, item_id(tenant, session, seq), policy)


def _check_audience(audience: str | None, user_id: str | None, client_id: str | None) -> None:
    """A memory for a user or a client belongs to one, or nobody would ever be shown it.

    Raises:
        UsageError: it is not said to whom.
    """
    if audience == "user" and not user_id:
        raise UsageError("The audience is a user, but which one?", remedy="add --user USER.")
    if audience in ("client", "profile") and not client_id:
        raise UsageError("The audience is a client, but which one?", remedy="add --client CLIENT.")


def _tenant(workspace: Workspace, tenant_id: str | None) -> str:
    """A tenant that is known, or that has ledgers which no night has read yet."""
    if tenant_id and workspace.settings.is_known(tenant_id):
        find_sessions(workspace, tenant_id=tenant_id)
        return tenant_id
    return require_tenant(workspace, tenant_id)
