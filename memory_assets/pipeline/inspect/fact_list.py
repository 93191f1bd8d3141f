"""Facts and refused answers of one tenant, for people who look after extraction."""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from memory_assets.domain.events import format_ref
from memory_assets.domain.personal import mask, masked
from memory_assets.domain.schemas import FACTS, PROMOTION_KEY, SESSIONS
from memory_assets.pipeline.inspect.browse import plain
from memory_assets.pipeline.inspect.tenants import require_tenant
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.ledgers import ingest
from memory_assets.steps.promotion.extract import ask_again, current_facts, refused_answers
from memory_assets.storage.answers import AnswerStore
from memory_assets.storage.locks import exclusive

_SHOWN: Final = ("subject", "detail", "span_start", "span_end", "extractor", "refusal_code")


def facts_of(workspace: Workspace, tenant_id: str | None) -> list[dict[str, Any]]:
    """The facts of a tenant in the order of their sessions and rows, personal data covered.

    Raises:
        UnknownTenantError: no tenant was named, or nothing is known of it.
    """
    tenant = require_tenant(workspace, tenant_id)
    sessions = workspace.derived.read(ingest.GROUP, SESSIONS)
    rows = current_facts(
        workspace.derived, sessions, FACTS.names(), pl.col("tenant_id") == tenant
    ).sort(PROMOTION_KEY)
    clients = workspace.client_names(tenant)
    return [
        plain({**{k: row[k] for k in (*PROMOTION_KEY, *_SHOWN)}, "ref": _ref(row)})
        for row in (masked(row, clients) for row in rows.to_dicts())
    ]


def refused_of(
    workspace: Workspace, tenant_id: str | None, *, raw: bool = False
) -> list[dict[str, Any]]:
    """The refused answers of a tenant: ``raw`` as they came, else with personal data covered.

    Raises:
        UnknownTenantError: no tenant was named, or nothing is known of it.
    """
    tenant = require_tenant(workspace, tenant_id)
    rows = refused_answers(workspace.derived).filter(pl.col("tenant_id") == tenant)
    clients = workspace.client_names(tenant)
    return [
        {**row, "ref": _ref(row), "answer": row["answer"] if raw else mask(row["answer"], clients)}
        for row in rows.sort(PROMOTION_KEY).to_dicts()
    ]


def retry_refused(workspace: Workspace, tenant_id: str | None) -> int:
    """Count of refused answers of a tenant that the next night asks for again.

    Raises:
        UnknownTenantError: no tenant was named, or nothing is known of it.
    """
    keys = [row["answer_key"] for row in refused_of(workspace, tenant_id)]
    with exclusive(workspace.home.derived_lock, purpose="forgetting answers", wait=True):
        return ask_again(workspace.derived, AnswerStore(workspace.home.answers), keys)


def _ref(row: dict[str, Any]) -> str:
    fact = f"#{row['fact_no']}" if row["fact_no"] else ""
    return format_ref(row["decision_seq"]) + fact
