"""The history of one memory: every event, decision, run and generation that made it what it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from memory_assets.domain.events import DECISION_TYPES, format_ref
from memory_assets.domain.schemas import PROMOTION_KEY, SESSIONS
from memory_assets.domain.visibility import Principal
from memory_assets.errors import CorruptStore
from memory_assets.pipeline.inspect.browse import corroborations_of, find_memory, plain
from memory_assets.pipeline.inspect.tenants import require_tenant
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.ledgers import ingest
from memory_assets.steps.ledgers.decide import current_decisions
from memory_assets.steps.promotion.extract import current_facts
from memory_assets.steps.registry.view import RegistryView
from memory_assets.storage.review_log import read_review_log

_LEAVES: Final = ("phase_reopened", "phase_rolled_back")
_SHOWN: Final = ("type", "phase", "subject", "detail", "rationale", "question_context")


@dataclass(frozen=True, slots=True)
class MemoryHistory:
    """What is on record about one memory."""

    memory: dict[str, Any]
    decisions: tuple[dict[str, Any], ...]
    """The decision that became the memory, then those that restate it; each with its state now."""
    events: tuple[dict[str, Any], ...]
    """The rows of their sessions that made, judged or ended these decisions, in replay order."""
    reviews: tuple[dict[str, Any], ...]
    """Lines of the review file about these decisions."""
    changes: tuple[dict[str, Any], ...]
    """Supersessions, retirements, tier changes, uses and detachments of the memory."""
    generations: tuple[dict[str, Any], ...]
    """The generations that recorded all this, each with its run and time while it is kept."""

    def to_dict(self) -> dict[str, Any]:
        """The history as ``--json`` prints it."""
        return {
            "memory": self.memory,
            "decisions": list(self.decisions),
            "events": list(self.events),
            "reviews": list(self.reviews),
            "changes": list(self.changes),
            "generations": list(self.generations),
        }


def memory_history(
    workspace: Workspace,
    memory_id: str,
    *,
    tenant_id: str | None,
    principal: Principal | None = None,
    as_of: str | None = None,
) -> MemoryHistory:
    """Every event, decision, run and generation that made a memory.

    Events and decisions are those of the last night's reading of the ledgers. Without a principal
    the files are the boundary: the tenant's ADMIN is meant. ``as_of`` is a generation or a time.

    Raises:
        UnknownGeneration: there is no generation of that number or time to read.
        UnknownTenantError: no tenant was named, or nothing is known of it.
        UnknownMemoryError: that tenant has no such memory.
    """
    tenant = require_tenant(workspace, tenant_id)
    view = workspace.registry(as_of)
    who = principal or Principal.local(tenant)
    memory = find_memory(view, workspace, who, tenant, memory_id, path="history")
    seen = corroborations_of(view, who, tenant, memory_id)
    keys = [_key(memory), *(_key(row) for row in seen)]
    decisions = _decisions(workspace, memory, seen)
    changes = _changes(view, tenant, memory_id)
    numbers = {memory["promoted_generation"], *(row["generation"] for row in (*seen, *changes))}
    return MemoryHistory(
        memory=plain(memory),
        decisions=tuple(decisions),
        events=tuple(_events(workspace, keys)),
        reviews=tuple(_reviews(workspace, keys)),
        changes=tuple(changes),
        generations=tuple(_generation(workspace, number) for number in sorted(numbers)),
    )


_Key = tuple[str, str, int, int]


def _key(row: Mapping[str, Any]) -> _Key:
    return (row["tenant_id"], row["session_id"], row["decision_seq"], row["fact_no"])


def _decisions(
    workspace: Workspace, memory: Mapping[str, Any], seen: Iterable[Mapping[str, Any]]
) -> Iterable[dict[str, Any]]:
    sessions = workspace.derived.read(ingest.GROUP, SESSIONS)
    now = {
        _key(row): row
        for row in pl.concat(
            [
                current_decisions(workspace.derived, sessions),
                current_facts(workspace.derived, sessions),
            ]
        )
        .join(
            pl.DataFrame([_key(memory), *map(_key, seen)], schema=_KEY_SCHEMA, orient="row"),
            on=PROMOTION_KEY,
            how="semi",
        )
        .to_dicts()
    }
    for role, row in [("memory", memory), *((r["kind"], r) for r in seen)]:
        state = now.get(_key(row))
        yield {
            "role": role,
            "session_id": row["session_id"],
            "decision_seq": row["decision_seq"],
            "ref": format_ref(row["decision_seq"]),
            "decided_at": row["decided_at"].isoformat(),
            "accepted_by": row["verdict_by"],
            "generation": row.get("promoted_generation", row.get("generation")),
            "subject": row["subject"],
            "detail": row["detail"],
            "state": _state(state),
        }


_KEY_SCHEMA: Final = {
    "tenant_id": pl.String,
    "session_id": pl.String,
    "decision_seq": pl.Int64,
    "fact_no": pl.Int64,
}


def _state(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "not in the ledgers as last read"
    if found["in_force"]:
        return "in force"
    return f"ended: {found['ended_reason']} by {format_ref(found['ended_by'])}"


def _events(workspace: Workspace, keys: Iterable[_Key]) -> Iterable[dict[str, Any]]:
    """Rows that made, marked, withdrew or ended the decisions, session by session."""
    by_session: dict[tuple[str, str], set[int]] = {}
    for tenant, session, seq, _ in keys:
        by_session.setdefault((tenant, session), set()).add(seq)
    wanted = pl.DataFrame(
        list(by_session), schema={"tenant_id": pl.String, "session_id": pl.String}, orient="row"
    )
    sessions = workspace.derived.read(ingest.GROUP, SESSIONS).join(
        wanted, on=["tenant_id", "session_id"], how="semi"
    )
    events = ingest.current_events(workspace.derived, sessions)
    for (tenant, session), refs in sorted(by_session.items()):
        here = events.filter(pl.col("tenant_id") == tenant, pl.col("session_id") == session)
        rows = here.sort("after_seq", pl.col("ref").clip(upper_bound=0).neg()).to_dicts()
        yield from (_event(row) for row in _concerned(rows, refs))


def _concerned(rows: list[dict[str, Any]], refs: set[int]) -> list[dict[str, Any]]:
    """The decisions, whatever refers to them (directly or not), and phases that were left later."""
    about = set(refs)
    started = False
    found = []
    for row in rows:
        started = started or row["ref"] in refs
        concerned = row["ref"] in refs or row["target"] in about
        if concerned and row["type"] not in DECISION_TYPES:
            about.add(row["ref"])
        left = started and row["type"] in _LEAVES
        if left:
            about.add(row["ref"])
        if concerned or left:
            found.append(row)
    return found


def _event(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "session_id": row["session_id"],
        "ref": format_ref(row["ref"]),
        "ts": row["ts"].isoformat(),
        **{name: row[name] for name in _SHOWN},
    }


def _reviews(workspace: Workspace, keys: Iterable[_Key]) -> Iterable[dict[str, Any]]:
    wanted = set(keys)
    for line, decision in read_review_log(workspace.home.review_decisions).decisions:
        if decision.key in wanted:
            yield {
                "line": line,
                "session_id": decision.session_id,
                "ref": format_ref(decision.decision_seq),
                "verdict": decision.verdict,
                "reviewer": decision.reviewer,
                "decided_at": decision.decided_at.isoformat(),
                "reason": decision.reason,
            }


def _changes(view: RegistryView, tenant_id: str, memory_id: str) -> list[dict[str, Any]]:
    tenant = pl.col("tenant_id") == tenant_id
    mine = tenant & (pl.col("memory_id") == memory_id)
    tables = {
        "superseded by": view.supersessions.filter(mine),
        "supersedes": view.supersessions.filter(tenant, pl.col("superseded_by") == memory_id),
        "retired": view.retirements.filter(mine),
        "tier": _tiers(view.tiers.filter(mine)),
        "used": view.uses.filter(mine),
        "detached": view.detachments.filter(mine),
        "detached from": view.detachments.filter(tenant, pl.col("detached_as") == memory_id),
    }
    found = [
        {"change": change, **plain(row)}
        for change, frame in tables.items()
        for row in frame.to_dicts()
    ]
    return sorted(found, key=lambda row: (row["generation"], row["change"]))


def _tiers(rows: pl.DataFrame) -> pl.DataFrame:
    """The changes of tier with who made each, and until when: the figures hold both."""
    inputs = pl.col("inputs")
    return rows.with_columns(
        decided_by=inputs.str.json_path_match("$.by").fill_null("rule"),
        until=inputs.str.json_path_match("$.until"),
    )


def _generation(workspace: Workspace, number: int) -> dict[str, Any]:
    """A generation with its run and time, which live in the manifest for as long as it is kept."""
    try:
        kept = workspace.generations.load(number)
    except CorruptStore:
        return {"generation": number, "kept": False, "run_id": None, "published_at": None}
    return {
        "generation": number,
        "kept": True,
        "run_id": kept.run_id,
        "published_at": kept.published_at,
    }
