"""``memory-assets facts``: what extraction made of free text, and answers that it refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_assets.cli.command import Run, Tenant, command, group
from memory_assets.cli.output import View, table, text

if TYPE_CHECKING:
    from rich.console import Console


def register(app: typer.Typer) -> None:
    """Adds the group of commands."""
    facts = group(app, "facts", "Facts made of free-text events, and answers that were refused.")

    @command(facts, "list", lists=True)
    def list_(run: Run, tenant: Tenant = None) -> View:
        """List the facts of a tenant with their source row, span and extractor.

        Personal data is covered; `review show` opens a fact.
        """
        from memory_assets.pipeline.inspect.fact_list import facts_of

        rows = facts_of(run.workspace, tenant)
        return View(rows, lambda out: _facts(out, rows))

    @command(facts, "refused", lists=True)
    def refused(
        run: Run,
        tenant: Tenant = None,
        raw: Annotated[
            bool, typer.Option("--raw", help="Just as they came: personal data uncovered.")
        ] = False,
    ) -> View:
        """List the models' answers in quarantine, each with its reason, personal data covered."""
        from memory_assets.pipeline.inspect.fact_list import refused_of

        rows = refused_of(run.workspace, tenant, raw=raw)
        return View(rows, lambda out: _refused(out, rows))

    @command(facts, "retry", writes=True)
    def retry(run: Run, tenant: Tenant = None) -> View:
        """Forget the refused answers of a tenant, so that the next night asks once more."""
        from memory_assets.pipeline.inspect.fact_list import retry_refused

        count = retry_refused(run.workspace, tenant)
        data = {"forgotten": count}
        return View(data, lambda out: out.print(f"{count} answer(s) will be asked for again."))


def _facts(out: Console, rows: list[dict[str, Any]]) -> None:
    shown = table("from", "span", "subject", "detail", "extractor", "state")
    for row in rows:
        shown.add_row(
            text(f"{row['session_id']} {row['ref']}"),
            f"{row['span_start']}-{row['span_end']}",
            text(row["subject"]),
            text(row["detail"]),
            text(row["extractor"]),
            text(row["refusal_code"] or "offered"),
        )
    out.print(shown)


def _refused(out: Console, rows: list[dict[str, Any]]) -> None:
    for row in rows:
        out.print(text(f"{row['session_id']} {row['ref']}  {row['extractor']}"), style="bold")
        out.print(text(f"{row['code']}: {row['reason']}"))
        out.print(text(row["answer"]))
    if not rows:
        out.print("No answer was refused.")
