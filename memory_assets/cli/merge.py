"""``memory-assets merge``: find, explain, apply and undo merges of memories that say the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memory_assets.cli.command import Run, command
from memory_assets.cli.output import View, table

if TYPE_CHECKING:
    from rich.console import Console

    from memory_assets.pipeline.merge_evaluate import PairEvaluation


def register(app: typer.Typer) -> None:
    """Adds the command group."""
    group = typer.Typer(
        help="Find, explain, apply and undo merges of memories that say the same.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    app.add_typer(group, name="merge")
    _evaluate(group)


def _evaluate(group: typer.Typer) -> None:
    @command(group, "evaluate")
    def evaluate(
        run: Run,
        file: Annotated[Path, typer.Argument(metavar="FILE", help="Labelled pairs, JSON lines.")],
        embedding: Annotated[
            str | None,
            typer.Option("--embedding", metavar="PROVIDER:MODEL", help="Instead of the setting."),
        ] = None,
        target: Annotated[
            float,
            typer.Option("--target", min=0.5, max=0.9999, help="Precision to be proven."),
        ] = 0.95,
    ) -> View:
        """Say what merging would do with a file of labelled pairs.

        Each line holds a, b and same, and where known subject_a, subject_b and kind. A line
        without same counts as different.
        """
        from memory_assets.embedding.registry import open_embedder
        from memory_assets.pipeline.merge_evaluate import evaluate_pairs, read_pairs

        pairs = read_pairs(file)
        workspace = run.workspace
        workspace.home.ensure()
        embedder = (
            open_embedder(embedding, cache_dir=workspace.home.cache)
            if embedding
            else workspace.embedder
        )
        with run.progress() as told:
            found = evaluate_pairs(
                pairs,
                embedder,
                workspace.cache,
                target=target,
                progress=lambda done, total: told("embedding", done, total),
            )
        return View(found.to_dict(), lambda out: _evaluation(out, found))


def _evaluation(out: Console, found: PairEvaluation) -> None:
    same = sum(p.same for p in found.pairs)
    out.print(f"{len(found.pairs)} pairs, {same} of them the same, in {found.space_id}")
    point = found.point
    earned = "none yet" if point.threshold is None else f"{point.threshold:.4f}"
    out.print(
        f"Automatic from cosine: {earned} ({point.labels} labels passed every guard, "
        f"{point.errors} wrong; lower bound {point.lower:.3f}, target {point.target:g}). "
        f"Review from {found.floor:.3f}."
    )
    shown = table(
        "threshold", "precision", "recall", "F1", "B3", "guarded precision", "guarded recall",
        "guarded F1", "guarded B3",
        right=("threshold", "precision", "recall", "F1", "B3"),
    )  # fmt: skip
    for plain, kept in zip(found.without_guards, found.with_guards, strict=True):
        shown.add_row(
            f"{plain.threshold:.2f}",
            *(f"{x:.3f}" for x in (plain.precision, plain.recall, plain.f1)),
            f"{found.clustering(plain.threshold, guards=False)['f1']:.3f}",
            *(f"{x:.3f}" for x in (kept.precision, kept.recall, kept.f1)),
            f"{found.clustering(plain.threshold, guards=True)['f1']:.3f}",
        )
    out.print(shown)
    routes = table("kind", "auto same", "auto different", "review same", "review different",
                   "ignored same", "ignored different")  # fmt: skip
    for kind, by_route in found.routing().items():
        cells = [str(by_route[r][k]) for r in ("auto", "review", "ignored") for k in ("same", "different")]
        routes.add_row(kind, *cells)
    out.print(routes)
