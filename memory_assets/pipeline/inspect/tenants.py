"""Who a command speaks for: a tenant that was named and is known, or nobody at all."""

from __future__ import annotations

import polars as pl

from memory_assets.domain.schemas import SESSIONS
from memory_assets.errors import UnknownTenantError
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.ledgers import ingest


def require_tenant(workspace: Workspace, tenant_id: str | None) -> str:
    """The tenant's name, when it was given and something is known of it: denied by default.

    Known is a tenant of ``tenants.toml``, of the published registry, or of the ledgers as last
    read. The message names no other tenant.

    Raises:
        UnknownTenantError: no tenant was named, or nothing is known of it.
    """
    if not tenant_id:
        raise UnknownTenantError(
            "No tenant was named.",
            remedy="add --tenant TENANT: the folder of the tenant's ledgers.",
        )
    if not _is_known(workspace, tenant_id):
        raise UnknownTenantError(
            f"Nothing is known of a tenant {tenant_id!r}.",
            where=str(workspace.home.root),
            remedy="check the spelling and --home; a tenant is known once the night has read a "
            "ledger of it.",
        )
    return tenant_id


def _is_known(workspace: Workspace, tenant_id: str) -> bool:
    if tenant_id in workspace.settings.tenants:
        return True
    current, _ = workspace.generations.current()
    if tenant_id in current.counters:
        return True
    sessions = workspace.derived.read(ingest.GROUP, SESSIONS, ["tenant_id"])
    return not sessions.filter(pl.col("tenant_id") == tenant_id).is_empty()
