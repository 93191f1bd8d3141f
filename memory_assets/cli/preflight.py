"""``memory-assets doctor --preflight``: nine questions before a night."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory_assets.cli.output import View, table, text

if TYPE_CHECKING:
    from rich.console import Console

    from memory_assets.cli.command import Run
    from memory_assets.pipeline.health.preflight import PreflightReport


def preflight_view(run: Run) -> View:
    """The report; its exit code is 1 when a tenant is stopped."""
    from memory_assets.defs.preflight import registered_assets
    from memory_assets.pipeline.health.preflight import preflight

    found = preflight(run.workspace, registered_assets, now=run.now)
    code = 0 if found.ok else 1
    return View(found.to_dict(), lambda out: _report(out, found), exit_code=code)


def _report(out: Console, found: PreflightReport) -> None:
    for tenant, outcomes in found.tenants.items():
        out.print(text(tenant), style="bold")
        rows = table("no.", "check", "finding")
        rows.show_header = False
        for one in outcomes:
            mend = f"\n-> {one.remedy}" if one.remedy else ""
            style = "" if one.passed else "bold red"
            rows.add_row(str(one.number), one.name, text(one.message + mend), style=style)
        out.print(rows)
    stopped = len(found.stopped)
    out.print(f"{len(found.tenants)} tenant(s) asked, {stopped} stopped.", style="bold")
