"""``memory-assets samples``: ledgers to try the pipeline on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from memory_assets.cli.command import Run, command
from memory_assets.cli.output import View, text


def register(app: typer.Typer) -> None:
    """Adds the command."""

    @command(app, "samples", writes=True)
    def samples(
        run: Run,
        folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to put them.")],
    ) -> View:
        """Copy the sample ledgers of two invented tenants into a folder; overwrites nothing."""
        from memory_assets.pipeline.nightly.samples import copy_samples

        found = copy_samples(folder)
        return View(
            found.to_dict(),
            lambda out: out.print(
                text(
                    f"{found.sessions} sample sessions are in {found.ledgers}\n"
                    f"Run the night on them:\n{found.next_command}"
                ),
                soft_wrap=True,
            ),
        )
