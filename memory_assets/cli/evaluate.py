"""``memory-assets evaluate``: how well searches answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memory_assets.cli.acting import PersonaName, principal
from memory_assets.cli.command import Run, Tenant, command
from memory_assets.cli.output import View, table, text

if TYPE_CHECKING:
    from rich.console import Console

    from memory_assets.steps.search.evaluate import Evaluation


FIGURES = ("recall_at_1", "recall_at_5", "recall_at_10", "mrr", "ndcg")


def register(app: typer.Typer) -> None:
    """Adds the command."""

    @command(app, "evaluate", lists=True)
    def evaluate(
        run: Run,
        file: Annotated[
            Path | None,
            typer.Argument(
                metavar="FILE",
                help="JSONL: {query, relevant: [mem-…]} for the registry, or {query, text} for "
                "outside data. Without it: what the ledgers imply.",
            ),
        ] = None,
        tenant: Tenant = None,
        every: Annotated[
            bool, typer.Option("--all-tenants", help="Every tenant of this home.")
        ] = False,
        limit: Annotated[
            int | None,
            typer.Option("--limit", min=1, help="Outside data: so many lines per language."),
        ] = None,
        persona: PersonaName = None,
    ) -> View:
        """Measure recall, MRR and nDCG of the vector leg, the text leg and the hybrid."""
        from memory_assets.pipeline.upkeep.evaluation_run import evaluate_file, evaluate_registry

        who = principal(tenant, persona, None, None)
        if file is not None:
            found = evaluate_file(run.workspace, file, now=run.now, principal=who, limit=limit)
        else:
            acting = None if every else who
            found = evaluate_registry(run.workspace, now=run.now, principal=acting).evaluation
        return View(found.to_dict(), lambda out: _figures(out, found), rows=found.rows)


def _figures(out: Console, found: Evaluation) -> None:
    left_out = f"{found.unanswerable} questions left out"
    if found.unanswerable:
        left_out += ": blank, or what they need is no active memory"
    if not found.rows:
        out.print("There are no questions with a known answer.")
        if found.unanswerable:
            out.print(f"generation {found.generation}, {left_out}")
        return
    headers = ("R@1", "R@5", "R@10", "MRR", "nDCG")
    rows = table("tenant", "language", "leg", "questions", *headers, right=("questions", *headers))
    for row in found.rows:
        figures = (f"{row[name]:.3f}" for name in FIGURES)
        names = (text(row["tenant_id"]), text(row["language"]), row["leg"])
        rows.add_row(*names, str(row["questions"]), *figures)
    for column in rows.columns[:3]:
        column.no_wrap = True
    out.print(rows)
    out.print(f"generation {found.generation}, {left_out}")
