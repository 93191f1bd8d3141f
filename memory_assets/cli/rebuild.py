"""``memory-assets rebuild``: the registry made again from what people and agents wrote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memory_assets.cli.command import Run, command
from memory_assets.cli.output import View

if TYPE_CHECKING:
    from rich.console import Console

    from memory_assets.pipeline.nightly.rebuild import RebuildResult


def register(app: typer.Typer) -> None:
    """Adds the command."""

    @command(app, "rebuild", writes=True)
    def rebuild(
        run: Run,
        into: Annotated[
            Path, typer.Option("--into", metavar="DIR", help="New home folder, empty.")
        ],
    ) -> View:
        """Make registry and index again, in a new home, without a look at the old registry.

        Ledgers, review decisions, intents and the allocation log suffice: ids, content, verdicts,
        replacements and retirements are the same; generation numbers begin anew. The old home is
        only read.
        """
        from memory_assets.pipeline.nightly.rebuild import rebuild as again

        found = again(run.workspace, into.absolute(), run_id="rebuild", now=run.now)
        return View(found.to_dict(), lambda out: _told(out, found), exit_code=int(bool(found.lost)))


def _told(out: Console, found: RebuildResult) -> None:
    out.print(
        f"{found.memories} memories and {found.corroborations} corroborations in {found.home}."
    )
    if found.lost:
        out.print(
            f"{len(found.lost)} on record cannot be made again; their ledger or edit is gone:"
        )
        for line in found.lost[:20]:
            out.print(f"  {line.tenant_id}/{line.session_id}: {line.memory_id}")
