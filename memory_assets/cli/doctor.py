"""``memory-assets doctor``: what is wrong with this installation, and what mends it."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from memory_assets.cli.command import Run, command
from memory_assets.cli.output import View, table, text

if TYPE_CHECKING:
    from rich.console import Console

    from memory_assets.pipeline.health.doctor import DoctorReport

_VALUE_WIDTH = 20
"""Of 80 columns: names and origins of settings are not broken for a long value."""
_SIGNS = {"error": "ERROR", "warning": "warn", "info": "info", "ok": "ok"}
_STYLES = {"error": "bold red", "warning": "yellow", "info": "", "ok": "green"}


def register(app: typer.Typer) -> None:
    """Adds the command."""

    @command(app, "doctor")
    def doctor(
        run: Run,
        deep: Annotated[
            bool, typer.Option("--deep", help="Also load the embedding model and ask it something.")
        ] = False,
        drift: Annotated[
            bool,
            typer.Option("--drift", help="Only compare registry and indexes, row by row."),
        ] = False,
        preflight: Annotated[
            bool,
            typer.Option("--preflight", help="Only ask the nine questions before a night."),
        ] = False,
    ) -> View:
        """Examine environment, settings, model, storage, locks and drift; nothing is changed.

        Every finding names what mends it. Exits with 1 when one of them is an error. With
        --preflight a tenant that fails is stopped, and written down, until a later check passes.
        """
        if preflight:
            from memory_assets.cli.preflight import preflight_view

            return preflight_view(run)

        from memory_assets.pipeline.health.doctor import diagnose

        if drift:
            from memory_assets.cli.storage import drift_view
            from memory_assets.pipeline.upkeep.upkeep import drift_of

            return drift_view(drift_of(run.workspace))

        found = diagnose(lambda: run.workspace, now=run.now, deep=deep)
        return View(
            found.to_dict(), lambda out: _report(out, found), exit_code=0 if found.ok else 1
        )


def _report(out: Console, found: DoctorReport) -> None:
    for area, findings in groupby(found.findings, key=lambda item: item[0]):
        out.print(area, style="bold")
        rows = table("level", "name", "finding")
        rows.show_header = False
        for _, finding in findings:
            mend = f"\n-> {finding.mend}" if finding.mend else ""
            rows.add_row(
                _SIGNS[finding.level],
                text(finding.name),
                text(finding.message + mend),
                style=_STYLES[finding.level],
            )
        out.print(rows)
        if area == "settings":
            _settings(out, found)
    counts = found.counts()
    out.print(f"{counts['error']} error(s), {counts['warning']} warning(s)", style="bold")


def _settings(out: Console, found: DoctorReport) -> None:
    rows = table("setting", "value", "origin")
    rows.columns[1].max_width = _VALUE_WIDTH
    for row in found.settings:
        rows.add_row(row["name"], text(row["value"] or "-"), text(row["origin"]))
    out.print(rows)
