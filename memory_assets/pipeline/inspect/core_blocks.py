"""The core block of one principal: what an agent's session starts with."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
import polars as pl

from memory_assets.domain.core_block import CoreBlock, CoreMemory, render_core
from memory_assets.domain.searchable import search_refusal
from memory_assets.domain.visibility import Principal, rule_for
from memory_assets.pipeline.inspect.tenants import require_tenant
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.registry.activity import active_with_accesses
from memory_assets.steps.registry.as_of import generation_at
from memory_assets.steps.registry.view import RegistryView
from memory_assets.storage.generations import Snapshot


@dataclass(frozen=True, slots=True)
class CoreView:
    """A block, and the generation that it was made from."""

    tenant_id: str
    generation: int
    block: CoreBlock

    def to_dict(self) -> dict[str, Any]:
        """The block as ``--json`` prints it."""
        return {
            "tenant_id": self.tenant_id,
            "generation": self.generation,
            **self.block.to_dict(),
        }


def core_block(
    workspace: Workspace,
    principal: Principal,
    tenant_id: str | None,
    *,
    as_of: int | datetime | None = None,
) -> CoreView:
    """The block of what the principal may see, from one generation, the newest by default.

    It depends on the generation and the principal alone, the clock does not enter: a session that
    keeps the generation's number (or its own starting time) as ``as_of`` gets the same bytes
    however long it lives.

    Raises:
        UnknownTenantError, AccessDenied: the principal may not read it, or nothing is known of it.
        UnknownGeneration: ``as_of`` names none that is kept.
    """
    rule = rule_for(principal, tenant_id, "core_block")
    generation = generation_at(workspace.generations, as_of)
    if generation.number == 0:
        return CoreView(tenant_id or "", 0, CoreBlock("", (), ()))
    require_tenant(workspace, tenant_id)
    view = RegistryView.of(Snapshot(workspace.generations, generation))
    at = datetime.fromisoformat(generation.published_at)
    patterns = workspace.settings.tenant(tenant_id or "").schema_table_patterns
    rows = active_with_accesses(view, now=at).filter((pl.col("tier") == "core") & rule.expr())
    memories = [
        _memory(row)
        for row in rows.to_dicts()
        if rule.allows(row) and search_refusal(row["type"], row["subject"], patterns) is None
    ]
    return CoreView(tenant_id or "", generation.number, render_core(memories, at=at))


def _memory(row: dict[str, Any]) -> CoreMemory:
    metadata = msgspec.json.decode(row["metadata"])
    return CoreMemory(
        memory_id=row["memory_id"],
        subject=row["subject"],
        detail=row["detail"],
        decided_at=row["decided_at"],
        last_seen=max(row["decided_at"], row["last_access"] or row["decided_at"]),
        accesses=row["accesses"],
        is_profile=row["audience"] == "profile",
        is_rule=metadata.get("immutable") is True,
    )
