"""``memory-assets recover`` and ``reindex``: what a person runs when a message asks for it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from memory_assets.cli.command import Run, command
from memory_assets.cli.output import View

if TYPE_CHECKING:
    from rich.console import Console

    from memory_assets.steps.promotion.markers import MarkersResult
    from memory_assets.steps.promotion.publish import PublishResult


def register(app: typer.Typer) -> None:
    """Adds the commands."""

    @command(app, "recover", writes=True)
    def recover(run: Run) -> View:
        """Write the markers that published verdicts still owe to the companion files.

        The next night does the same; this command does only this, and says what is left.
        """
        from memory_assets.pipeline.nightly.recover import recover_markers, still_owed

        with run.progress() as told:
            found = recover_markers(run.workspace, now=run.now, progress=told)
        return View(
            found.to_metadata() | {"failed": [list(f) for f in found.failed]},
            lambda out: _recovered(out, found),
            failure=still_owed(found),
        )

    @command(app, "reindex", writes=True)
    def reindex(
        run: Run,
        space: Annotated[
            str | None,
            typer.Option("--space", metavar="SPACE", help="Build this space anew, and swap it in."),
        ] = None,
    ) -> View:
        """Bring the search index in line with the registry and fill in missing vectors."""
        from memory_assets.pipeline.nightly.recover import reindex as again
        from memory_assets.pipeline.upkeep.upkeep import rebuild_index

        with run.progress() as told:
            if space is None:
                found = again(run.workspace, now=run.now, progress=told)
            else:
                told_embedding = partial(told, "embedding memories")
                found = rebuild_index(run.workspace, space, now=run.now, progress=told_embedding)
        return View(found.to_metadata(), lambda out: _reindexed(out, found))


def _recovered(out: Console, found: MarkersResult) -> None:
    if not found.owed:
        out.print("No marker is owed.")
        return
    out.print(f"{found.written} of {found.owed} owed markers written.")


def _reindexed(out: Console, found: PublishResult) -> None:
    if found.published:
        out.print(f"Generation {found.generation} published: {found.memories} memories.")
    else:
        out.print(f"Generation {found.generation} stands: the index holds what it must.")
    out.print(f"{found.embedded} texts embedded.")
    if found.pending:
        out.print(f"{found.pending} memories are still not searchable by vector.")
