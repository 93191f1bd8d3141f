"""``memory-assets history``: where a memory comes from and what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from memory_assets.cli.acting import ActingUser, OwnClients, PersonaName, principal
from memory_assets.cli.command import Run, Tenant, command
from memory_assets.cli.output import View, table, text
from memory_assets.cli.registry import AsOf, MemoryId

if TYPE_CHECKING:
    from rich.console import Console

    from memory_assets.pipeline.inspect.history import MemoryHistory


def register(app: typer.Typer) -> None:
    """Adds the command."""

    @command(app, "history")
    def history(
        run: Run,
        memory: MemoryId,
        tenant: Tenant = None,
        persona: PersonaName = None,
        as_user: ActingUser = None,
        own_client: OwnClients = None,
        as_of: AsOf = None,
    ) -> View:
        """Show every event, decision, run and generation that made a memory."""
        from memory_assets.pipeline.inspect.history import memory_history

        who = principal(tenant, persona, as_user, own_client)
        found = memory_history(run.workspace, memory, tenant_id=tenant, principal=who, as_of=as_of)
        return View(found.to_dict(), lambda out: _history(out, found))


def _history(out: Console, found: MemoryHistory) -> None:
    memory = found.memory
    title = f"{memory['tenant_id']}/{memory['memory_id']}  {memory['subject']}"
    out.print(text(title), style="bold")
    out.print(text(memory["detail"]))
    gone = f", replaced by {memory['superseded_by']}" if memory["superseded_by"] else ""
    out.print(f"{memory['status']}{gone}, tier {memory['tier']}, origin {memory['origin']}")
    _part(
        out,
        "Decisions",
        found.decisions,
        {
            "role": lambda r: r["role"],
            "from": lambda r: f"{r['session_id']} {r['ref']}",
            "accepted by": lambda r: r["accepted_by"],
            "gen.": lambda r: str(r["generation"]),
            "now": lambda r: r["state"],
        },
    )
    _part(
        out,
        "Events",
        found.events,
        {
            "when": lambda r: r["ts"][:19].replace("T", " "),
            "row": lambda r: r["ref"],
            "type": lambda r: r["type"],
            "says": lambda r: ": ".join(p for p in (r["subject"], r["detail"]) if p),
        },
    )
    _part(
        out,
        "Review decisions",
        found.reviews,
        {
            "when": lambda r: r["decided_at"][:19].replace("T", " "),
            "row": lambda r: r["ref"],
            "verdict": lambda r: r["verdict"],
            "reviewer": lambda r: r["reviewer"],
            "reason": lambda r: r["reason"],
        },
    )
    _part(
        out,
        "Changes",
        found.changes,
        {
            "change": _change,
            "gen.": lambda r: str(r["generation"]),
            "by": lambda r: r.get("decided_by") or r.get("used_by") or "",
            "why": lambda r: r.get("reason") or "",
        },
    )
    _part(
        out,
        "Generations",
        found.generations,
        {
            "gen.": lambda r: str(r["generation"]),
            "published": lambda r: (r["published_at"] or "no longer kept")[:19].replace("T", " "),
            "run": lambda r: r["run_id"] or "",
        },
    )


def _change(row: Mapping[str, Any]) -> str:
    undone = " (undone)" if row.get("retracted") else ""
    other = {
        "superseded by": row.get("superseded_by"),
        "supersedes": row["memory_id"],
        "tier": _tier(row),
        "detached": f"{row.get('session_id')}, now {row.get('detached_as')}",
        "detached from": row["memory_id"],
        "used": row.get("session_id"),
    }.get(row["change"])
    return f"{row['change']} {other}{undone}" if other else row["change"]


def _tier(row: Mapping[str, Any]) -> str:
    until = row.get("until")
    return f"{row.get('tier')} until {until[:10]}" if until else str(row.get("tier"))


def _part(
    out: Console, title: str, rows: Sequence[Mapping[str, Any]], columns: Mapping[str, Any]
) -> None:
    if not rows:
        return
    out.print(f"\n{title}", style="bold")
    shown = table(*columns)
    for row in rows:
        shown.add_row(*(text(cell(row)) for cell in columns.values()))
    out.print(shown)
