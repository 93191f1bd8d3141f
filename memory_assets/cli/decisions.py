"""``memory-assets decisions`` and ``preview``: sessions as their ledgers say now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_assets.cli.command import Run, Tenant, command
from memory_assets.cli.output import View, table, text
from memory_assets.errors import LedgerUnreadable

if TYPE_CHECKING:
    from rich.console import Console

    from memory_assets.pipeline.inspect.preview import SessionPreview

_COUNTED = ("in_force", "promoted", "declined", "to_review")


def register(app: typer.Typer) -> None:
    """Adds the commands."""

    @command(app, "decisions", lists=True)
    def decisions(
        run: Run,
        session: Annotated[
            str | None, typer.Option("--session", metavar="SESSION", help="Only this session.")
        ] = None,
        tenant: Tenant = None,
    ) -> View:
        """List per session the clarifications in force, those with a verdict, and those that wait.

        Numbers are rows of the ledger; negative ones are rows of the companion file.
        """
        from memory_assets.pipeline.inspect.sessions import decision_lines

        unreadable: list[LedgerUnreadable] = []
        found = list(
            decision_lines(
                run.workspace, tenant_id=tenant, session_id=session, unreadable=unreadable
            )
        )
        return View(found, lambda out: _lines(out, found), failure=_told(unreadable))

    @command(app, "preview")
    def preview(
        run: Run,
        session: Annotated[
            str, typer.Option("--session", metavar="SESSION", help="The session to look at.")
        ],
        tenant: Tenant = None,
        limit: Annotated[
            int | None,
            typer.Option(
                "--limit", min=1, metavar="N", help="Show so many candidates (text only)."
            ),
        ] = None,
        seq: Annotated[
            int | None,
            typer.Option(
                "--seq", min=1, metavar="N", help="Open this row: show its personal data too."
            ),
        ] = None,
    ) -> View:
        """Show what a session offers to a reviewer, and what is refused and why.

        Without --tenant the session's name must be the only one of all tenants. Personal data is
        covered until its row is opened.
        """
        from memory_assets.pipeline.inspect.preview import preview_session

        found = preview_session(run.workspace, session, tenant_id=tenant, opened=seq)
        return preview_view(found, limit)


def preview_view(found: SessionPreview, limit: int | None = None) -> View:
    """What a session offers, for people and as JSON."""
    return View(found.to_dict(), lambda out: _preview(out, found, limit))


def _told(unreadable: Sequence[LedgerUnreadable]) -> LedgerUnreadable | None:
    """All ledgers that could not be read as one error."""
    if len(unreadable) < 2:
        return unreadable[0] if unreadable else None
    return LedgerUnreadable(
        f"{len(unreadable)} ledgers cannot be read.",
        where=", ".join(error.where for error in unreadable),
        remedy=unreadable[0].remedy,
    )


def _lines(out: Console, found: Sequence[Mapping[str, Any]]) -> None:
    rows = table("session", "closed", *_COUNTED, right=_COUNTED)
    for line in found:
        rows.add_row(
            text(f"{line['tenant_id']}/{line['session_id']}"),
            "yes" if line["closed"] else "no",
            *(str(len(line[name])) for name in _COUNTED),
        )
    out.print(rows)


def _preview(out: Console, found: SessionPreview, limit: int | None) -> None:
    out.print(text(f"{found.tenant_id}/{found.session_id}"), style="bold")
    for reason in found.needs_review:
        out.print(text(reason))
    count = len(found.candidates)
    out.print(f"\n{count} candidate(s)", style="bold")
    for row in found.candidates[:limit]:
        same = f" (also {', '.join(row['equal_refs'])})" if row["equal_refs"] else ""
        held = f"  [personal data: {row['personal']}]" if row["personal"] else ""
        out.print(text(f"\n{row['ref']}{same}{held}  {row['subject']}"), style="bold")
        out.print(text(row["detail"]))
        if row["rationale"]:
            out.print(text(f"because: {row['rationale']}"))
        if row["cites"]:
            out.print(f"cites: {', '.join(row['cites'])}")
    if limit is not None and count > limit:
        out.print(f"\nand {count - limit} more")
    if found.refused:
        out.print(f"\nRefused ({len(found.refused)})", style="bold")
        rows = table("row", "subject", "why")
        for row in found.refused:
            rows.add_row(row["ref"], text(row["subject"]), text(row["reason"]))
        out.print(rows)
