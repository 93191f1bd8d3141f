"""The registry as people read it: a list of memories, and one memory in full."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import polars as pl

from memory_assets.domain.boundaries import listing_refusal
from memory_assets.domain.candidates import SchemaNames
from memory_assets.domain.events import format_ref
from memory_assets.domain.visibility import PERSONAS, Principal, rule_for
from memory_assets.errors import UnknownMemoryError
from memory_assets.pipeline.inspect.tenants import require_tenant
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.registry.view import RegistryView

LISTED: Final = (
    "tenant_id",
    "memory_id",
    "status",
    "tier",
    "subject",
    "detail",
    "session_id",
    "decision_seq",
    "decided_at",
    "promoted_generation",
    "origin",
    "user_id",
    "client_id",
    "audience",
    "superseded_by",
)


@dataclass(frozen=True, slots=True)
class Listing:
    """Some memories of one tenant in the order of their ids, and how many there are."""

    tenant_id: str
    generation: int
    memories: tuple[dict[str, Any], ...]
    total: int
    """Memories that match, shown or not."""
    hidden: Mapping[str, int]
    """Rows of the registry that are no memories, by reason code: shown to nobody."""

    def to_dict(self) -> dict[str, Any]:
        """The list as ``--json`` prints it."""
        return {
            "tenant_id": self.tenant_id,
            "generation": self.generation,
            "total": self.total,
            "hidden": dict(self.hidden),
            "memories": list(self.memories),
        }


@dataclass(frozen=True, slots=True)
class Readable:
    """The part of a registry that may be shown, and what was held back by reason code."""

    memories: pl.DataFrame
    """Columns of ``RegistryView.status``."""
    hidden: Mapping[str, int]


def readable(
    view: RegistryView, workspace: Workspace, principal: Principal, tenant_id: str, path: str
) -> Readable:
    """The memories that this principal may see of a tenant on one read path.

    Schema choices are held back, whatever let them into the registry: this boundary holds alone.

    Raises:
        UnknownTenantError, AccessDenied: see ``visibility.rule_for``.
    """
    allowed = view.status().filter(rule_for(principal, tenant_id, path).expr())
    names = SchemaNames(workspace.tenant_rules(tenant_id).patterns)
    why = [
        listing_refusal(kind, subject, names)
        for kind, subject in allowed.select("type", "subject").iter_rows()
    ]
    hidden: dict[str, int] = {}
    for found in why:
        if found is not None:
            hidden[found[0]] = hidden.get(found[0], 0) + 1
    return Readable(allowed.filter(pl.Series([w is None for w in why], dtype=pl.Boolean)), hidden)


def list_memories(
    workspace: Workspace,
    *,
    tenant_id: str | None,
    tier: str | None = None,
    everything: bool = False,
    limit: int | None = None,
    principal: Principal | None = None,
    as_of: str | None = None,
) -> Listing:
    """The active memories of a tenant; ``everything`` adds superseded and retired ones.

    Without a principal the files are the boundary: the tenant's ADMIN is meant. ``as_of`` is a
    generation or a time.

    Raises:
        UnknownGeneration: there is no generation of that number or time to read.
        UnknownTenantError: no tenant was named, or nothing is known of it.
        AccessDenied: the principal may not list that tenant's memories.
    """
    tenant = require_tenant(workspace, tenant_id)
    view = workspace.registry(as_of)
    shown = readable(view, workspace, principal or Principal.local(tenant), tenant, "list")
    found = shown.memories
    if not everything:
        found = found.filter(pl.col("status") == "active")
    if tier is not None:
        found = found.filter(pl.col("tier") == tier)
    some = found if limit is None else found.head(limit)
    rows = tuple(plain(row) for row in some.select(LISTED).to_dicts())
    return Listing(tenant, view.generation, rows, found.height, shown.hidden)


def show_memory(
    workspace: Workspace,
    memory_id: str,
    *,
    tenant_id: str | None,
    principal: Principal | None = None,
    as_of: str | None = None,
) -> dict[str, Any]:
    """One memory with all its columns, ``status``, ``tier`` and its corroborations.

    Raises:
        UnknownGeneration: there is no generation ``as_of`` to read.
        UnknownTenantError: no tenant was named, or nothing is known of it.
        UnknownMemoryError: that tenant has no such memory, or none that the principal may see.
        AccessDenied: the principal may not see memories in this way.
    """
    tenant = require_tenant(workspace, tenant_id)
    view = workspace.registry(as_of)
    who = principal or Principal.local(tenant)
    found = find_memory(view, workspace, who, tenant, memory_id, path="show")
    return {
        **plain(found),
        "generation": view.generation,
        "ref": format_ref(found["decision_seq"]),
        "corroborations": [plain(row) for row in corroborations_of(view, who, tenant, memory_id)],
    }


def find_memory(
    view: RegistryView,
    workspace: Workspace,
    principal: Principal,
    tenant_id: str,
    memory_id: str,
    *,
    path: str,
) -> dict[str, Any]:
    """The row of one memory with ``status`` and ``tier``.

    Raises:
        UnknownMemoryError: the tenant has no such memory that the principal may see, whatever
            other tenants have.
    """
    shown = readable(view, workspace, principal, tenant_id, path).memories
    found = shown.filter(pl.col("memory_id") == memory_id)
    if found.is_empty():
        raise UnknownMemoryError(
            f"Tenant {tenant_id!r} has no memory {memory_id!r}.",
            where=f"generation {view.generation}",
            remedy=f"`memory-assets registry list --tenant {tenant_id}` names all of them.",
        )
    return found.row(0, named=True)


def corroborations_of(
    view: RegistryView, principal: Principal, tenant_id: str, memory_id: str
) -> list[dict[str, Any]]:
    """The decisions that restate one memory, in the order in which they were recorded.

    None for a principal who does not see the whole tenant: a reviewer may have called a private
    decision the duplicate of a shared memory, and its words and session stay private.
    """
    if not PERSONAS[principal.persona].crosses_tenants:
        return []
    mine = (pl.col("tenant_id") == tenant_id) & (pl.col("memory_id") == memory_id)
    found = view.corroborations.filter(mine)
    return found.sort("generation", "session_id", "decision_seq").to_dicts()


def plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row whose values JSON can hold; times become RFC 3339 texts."""
    return {k: v.isoformat() if isinstance(v, datetime) else v for k, v in row.items()}
