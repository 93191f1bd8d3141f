"""``memory-assets ledger``: for people who write ledgers."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memory_assets.cli.command import Run, command, group
from memory_assets.cli.output import View, text

if TYPE_CHECKING:
    from rich.console import Console

    from memory_assets.steps.ledgers.lint import LintReport

LINT_FAILED = 3
"""The exit code of ledger errors: the night would refuse a row."""


class Origin(StrEnum):
    """Which of a session's two files a schema describes."""

    LEDGER = "ledger"
    COMPANION = "companion"


def register(app: typer.Typer) -> None:
    """Adds the group of commands."""
    ledger = group(app, "ledger", "Check ledgers, and say how they are written.")

    @command(ledger, "lint", lists=True)
    def lint(
        run: Run,
        path: Annotated[
            Path,
            typer.Argument(metavar="PATH", help="A ledger, a tenant's folder, or all of them."),
        ],
    ) -> View:
        """Report every problem with its file, line and remedy; nothing is changed.

        Exits with 3 when the night would refuse a row.
        """
        from memory_assets.steps.ledgers.lint import lint_ledgers

        found = lint_ledgers(path)
        return View(
            found.to_dict(),
            lambda out: _report(out, found),
            rows=[problem.to_dict() for problem in found.problems],
            exit_code=0 if found.ok else LINT_FAILED,
        )

    @command(ledger, "schema")
    def schema(
        run: Run,
        file: Annotated[
            Origin,
            typer.Option(
                "--of", metavar="ledger|companion", help="Which of a session's two files."
            ),
        ] = Origin.LEDGER,
    ) -> View:
        """Print the JSON Schema of a ledger row."""
        import json

        from memory_assets.domain.ledger_schema import ledger_row_schema

        found = ledger_row_schema(file.value)
        printed = json.dumps(found, ensure_ascii=False, indent=2)
        return View(found, lambda out: out.print(printed, soft_wrap=True))


def _report(out: Console, found: LintReport) -> None:
    for problem in found.problems:
        place = f"{problem.file}:{problem.line}" if problem.line else problem.file
        out.print(text(f"{place}: {problem.level} {problem.code}"), soft_wrap=True, style="bold")
        out.print(text(f"  {problem.message}"), soft_wrap=True)
        out.print(text(f"  {problem.remedy}"), soft_wrap=True)
    counts = ", ".join(f"{n} {level}" for level, n in found.counts().items())
    out.print(f"{found.sessions} session(s), {found.rows} accepted row(s): {counts}")
