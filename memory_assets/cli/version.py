"""``memory-assets version``: which version this is, and of what it is made."""

from __future__ import annotations

import typer

from memory_assets.cli.command import Run, command
from memory_assets.cli.output import View


def register(app: typer.Typer) -> None:
    """Adds the command."""

    @command(app, "version")
    def version(run: Run) -> View:
        """Print the version."""
        from importlib.metadata import version as installed

        found = {"version": installed("memory-assets")}
        return View(found, lambda out: out.print(f"memory-assets {found['version']}"))
