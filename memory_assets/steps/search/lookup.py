"""One memory for one principal: what it says, and why it stands as it does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from memory_assets.domain.events import format_ref
from memory_assets.domain.searchable import search_refusal
from memory_assets.domain.visibility import Principal
from memory_assets.errors import UnknownMemoryError
from memory_assets.steps.search.searcher import Searcher
from memory_assets.steps.search.state import ServedGeneration, use_events

_SHOWN = (
    *("tenant_id", "memory_id", "status", "superseded_by", "tier", "type", "subject", "detail"),
    *("rationale", "question_context", "concepts", "tables", "decided_at", "session_id"),
    *("decision_seq", "user_id", "client_id", "audience", "origin", "verdict_by"),
    *("promoted_generation", "content_sha256"),
)


@dataclass(frozen=True, slots=True)
class Found:
    """A memory that the principal may see, in the generation it was read from."""

    served: ServedGeneration
    row: Mapping[str, Any]
    """The columns of ``memories``, ``tier``, ``status`` and ``superseded_by``."""

    @property
    def active(self) -> bool:
        """Whether searches may find it."""
        return bool(self.row["status"] == "active")


def find_memory(
    searcher: Searcher, principal: Principal, memory_id: str, *, tenant_id: str | None, path: str
) -> Found:
    """The memory, superseded and retired ones too.

    One that the principal may not see is as unknown as one that does not exist.

    Raises:
        UnknownTenantError, AccessDenied: see ``domain.visibility``.
        UnknownMemoryError: the tenant has no such memory, or none that may be seen.
    """
    served = searcher.served()
    tenant = principal.tenant if tenant_id is None else tenant_id
    rule = searcher.rule(principal, tenant, path, served)
    rows = served.everything.filter(pl.col("tenant_id") == tenant, pl.col("memory_id") == memory_id)
    row = rows.row(0, named=True) if rows.height else None
    patterns = searcher.options.schema_patterns(tenant)
    if (
        row is None
        or not rule.allows(row)
        or search_refusal(row["type"], row["subject"], patterns) is not None
    ):
        raise UnknownMemoryError(
            f"Tenant {tenant!r} has no memory {memory_id!r} for {principal.persona}.",
            where=f"generation {served.generation.number}",
            remedy="search for it by what it says.",
        )
    return Found(served, row)


def get_memory(
    searcher: Searcher, principal: Principal, memory_id: str, *, tenant_id: str | None = None
) -> dict[str, Any]:
    """One memory as JSON holds it; ``superseded_by`` names the one that answers for it now."""
    found = find_memory(searcher, principal, memory_id, tenant_id=tenant_id, path="show")
    return {name: _plain(found.row[name]) for name in _SHOWN}


def explain_memory(
    searcher: Searcher, principal: Principal, memory_id: str, *, tenant_id: str | None = None
) -> dict[str, Any]:
    """Where a memory comes from, what supports it, and what it replaced.

    Supporting sessions are counted and timed, not quoted: their words may belong to others.
    """
    found = find_memory(searcher, principal, memory_id, tenant_id=tenant_id, path="explain")
    row, served = found.row, found.served
    mine = (pl.col("tenant_id") == row["tenant_id"]) & (pl.col("memory_id") == memory_id)
    seen = served.registry.corroborations.filter(mine)
    used = use_events(served.registry).filter(mine)
    replaced = served.replaced.filter(
        pl.col("tenant_id") == row["tenant_id"], pl.col("superseded_by") == memory_id
    )
    tiers = served.registry.tiers.filter(mine).sort("generation").select("tier", "reason")
    return {
        "memory_id": memory_id,
        "tenant_id": row["tenant_id"],
        "status": row["status"],
        "superseded_by": row["superseded_by"],
        "supersedes": sorted(replaced["memory_id"].to_list()),
        "source": {
            "session_id": row["session_id"],
            "ref": format_ref(row["decision_seq"]),
            "decided_at": _plain(row["decided_at"]),
            "accepted_by": row["verdict_by"],
            "origin": row["origin"],
            "generation": row["promoted_generation"],
        },
        "seen_again": dict(sorted(seen["kind"].value_counts().iter_rows())),
        "uses": used.height,
        "last_use": _plain(used["decided_at"].max()),
        "tier": row["tier"],
        "tier_changes": tiers.to_dicts(),
        "generation": served.generation.number,
    }


def _plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value
