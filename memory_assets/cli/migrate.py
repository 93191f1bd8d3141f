"""``memory-assets migrate``: a home of an older version, brought forward."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memory_assets.cli.command import Run, command
from memory_assets.cli.output import View

if TYPE_CHECKING:
    from rich.console import Console

    from memory_assets.storage.migrations import MigrationPlan


def register(app: typer.Typer) -> None:
    """Adds the command."""

    @command(app, "migrate", writes=True)
    def migrate(
        run: Run,
        dry_run: Annotated[
            bool, typer.Option("--dry-run", help="Show what would be done, and change nothing.")
        ] = False,
    ) -> View:
        """Bring a home that an older version wrote to the form of this one.

        Each step is committed by itself and can be repeated. There is no way back: make a backup.
        """
        workspace = run.workspace
        plan = workspace.plan_migration() if dry_run else workspace.migrate()
        return View(plan.to_dict(), lambda out: _told(out, plan))


def _told(out: Console, plan: MigrationPlan) -> None:
    if not plan.steps:
        out.print(f"Schema version {plan.found}: nothing to do.")
        return
    verb = "Was" if plan.applied else "Would be"
    out.print(f"{verb} brought from schema version {plan.found} to {plan.wanted}:")
    for step in plan.steps:
        out.print(f"  {step.to}: {step.meaning}")
