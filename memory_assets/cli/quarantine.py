"""``memory-assets quarantine``: refused ledger lines and how to repair them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from memory_assets.cli.command import Run, Tenant, command, group
from memory_assets.cli.output import View, table, text

if TYPE_CHECKING:
    from rich.console import Console

    from memory_assets.pipeline.inspect.quarantine import RefusedBytes, RefusedLine


def register(app: typer.Typer) -> None:
    """Adds the group of commands."""
    quarantine = group(app, "quarantine", "Look at ledger lines that the last night refused.")

    @command(quarantine, "list", lists=True)
    def list_(run: Run, tenant: Tenant = None) -> View:
        """List the refused lines with their reasons; without --tenant those of all tenants."""
        from memory_assets.pipeline.inspect.quarantine import refused_lines

        found = refused_lines(run.workspace, tenant_id=tenant)
        return View([line.to_dict() for line in found], lambda out: _listing(out, found))

    @command(quarantine, "show")
    def show(
        run: Run,
        place: Annotated[
            str, typer.Argument(metavar="FILE:LINE", help="The line, as the list names it.")
        ],
        tenant: Tenant = None,
    ) -> View:
        """Show one refused line as it stands in the ledger, and what to do about it."""
        from memory_assets.pipeline.inspect.quarantine import show_refused

        found = show_refused(run.workspace, place, tenant_id=tenant)
        return View(found.to_dict(), lambda out: _line(out, found))


def _listing(out: Console, found: Sequence[RefusedLine]) -> None:
    if not found:
        out.print("The quarantine is empty.")
        return
    rows = table("line", "code", "reason")
    for line in found:
        rows.add_row(text(line.place), line.code, text(line.reason))
    out.print(rows)


def _line(out: Console, found: RefusedBytes) -> None:
    refused = found.refused
    out.print(text(refused.place), style="bold")
    out.print(f"{refused.code}: {text(refused.reason)}")
    out.print(f"{len(found.raw)} bytes at offset {found.offset}:\n")
    out.print(text(found.raw.decode("utf-8", "backslashreplace")))
    out.print(f"\nWhat to do: {found.remedy}")
