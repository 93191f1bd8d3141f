"""``memory-assets nightly``: the nightly job in this process, told as a story."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memory_assets.cli.command import Run, command
from memory_assets.cli.output import View
from memory_assets.cli.progress import spinner

if TYPE_CHECKING:
    from memory_assets.pipeline.nightly.night import NightReport


def register(app: typer.Typer) -> None:
    """Adds the command."""

    @command(app, "nightly", writes=True)
    def nightly(
        run: Run,
        dry_run: Annotated[
            bool,
            typer.Option("--dry-run", help="Show what would be done, and write nothing at all."),
        ] = False,
    ) -> View:
        """Run the nightly consolidation: ledgers in, a published and searchable registry out.

        Can be repeated at any time: a night without changes publishes nothing, and a night that
        was stopped is finished by the next one. Exit code 1 when the pre-flight check stopped a
        tenant: the others were consolidated.
        """
        if dry_run:
            return _rehearsed(run)
        return _told(run, _night(run))


def _night(run: Run) -> NightReport:
    workspace = run.workspace
    _ = workspace.settings.ledgers  # none named: say so before a home is made
    with spinner("running the job nightly_consolidation"):
        from memory_assets.defs.run_nightly import run_nightly

        return run_nightly(workspace).located(workspace)


def _told(run: Run, report: NightReport) -> View:
    from memory_assets.cli.story import night_story
    from memory_assets.pipeline.nightly.recover import still_owed

    return View(
        report.to_dict(),
        lambda out: night_story(out, report, now=run.now),
        failure=still_owed(report.markers),
        exit_code=1 if report.held_up else 0,
    )


def _rehearsed(run: Run) -> View:
    from memory_assets.cli.story import dry_run_story
    from memory_assets.pipeline.nightly.dry_run import rehearse

    with run.progress() as told:
        report = rehearse(run.workspace, now=run.now, progress=told)
    return View(report.to_dict(), lambda out: dry_run_story(out, report))
