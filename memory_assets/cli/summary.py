"""``memory-assets summary``: what became of a session's clarifications."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memory_assets.cli.command import Run, Tenant, command
from memory_assets.cli.output import View, text

if TYPE_CHECKING:
    from rich.console import Console

    from memory_assets.pipeline.inspect.summary import SessionSummary


def register(app: typer.Typer) -> None:
    """Adds the command."""

    @command(app, "summary")
    def summary(
        run: Run,
        session: Annotated[
            str, typer.Option("--session", metavar="SESSION", help="The session to summarise.")
        ],
        tenant: Tenant = None,
    ) -> View:
        """Show the memories of a session: approved ones first, then declined ones.

        Read from ledger and companion as they are now; nothing is rewritten.
        """
        from memory_assets.pipeline.inspect.summary import summarise

        found = summarise(run.workspace, session, tenant_id=tenant)
        return View(found.to_dict(), lambda out: _summary(out, found))


def _summary(out: Console, found: SessionSummary) -> None:
    out.print(text(f"{found.tenant_id}/{found.session_id}"), style="bold")
    status = ""
    for memory in found.memories:
        if memory["status"] != status:
            status = memory["status"]
            count = sum(m["status"] == status for m in found.memories)
            out.print(f"\n{status.capitalize()} ({count})", style="bold")
        name = f"  {memory['memory_id']}" if memory["memory_id"] else ""
        out.print(text(f"\n{memory['ref']}{name}  {memory['subject']}"), style="bold")
        out.print(text(memory["detail"]))
        if memory["rationale"]:
            out.print(text(f"because: {memory['rationale']}"))
        if not memory["in_force"]:
            out.print(text(f"no longer in force since {memory['ended_by']}"))
    if not found.memories:
        out.print("No verdicts yet.")
    if found.waiting:
        out.print(f"\n{found.waiting} candidate(s) wait for a reviewer.")
    if found.hidden:
        out.print(f"{len(found.hidden)} marked row(s) are no memories and are not shown.")
