"""``memory-assets embedding``: where it stands, moving to another model, and back again."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from memory_assets.cli.command import Run, command, group
from memory_assets.cli.output import View, table, text

if TYPE_CHECKING:
    from rich.console import Console

    from memory_assets.pipeline.inspect.embedding_status import EmbeddingStatus
    from memory_assets.pipeline.upkeep.migrate import MigrationEstimate, MigrationResult

_FIGURES = ("recall_at_1", "recall_at_10", "mrr", "ndcg")


def register(app: typer.Typer) -> None:
    """Adds the group and its commands."""
    commands = group(app, "embedding", "The embedding models, and moving from one to another.")

    @command(commands, "status")
    def status(run: Run) -> View:
        """Show the configured models, the published spaces and the last run; nobody is asked."""
        from memory_assets.pipeline.inspect.embedding_status import embedding_status

        found = embedding_status(run.workspace)
        return View(found.to_dict(), lambda out: _status(out, found))

    @command(commands, "migrate", writes=True)
    def migrate(
        run: Run,
        to: Annotated[
            str, typer.Option("--to", metavar="PROVIDER:MODEL", help="The model that shall serve.")
        ],
        dry_run: Annotated[
            bool, typer.Option("--dry-run", help="Only estimate texts, tokens and cost.")
        ] = False,
    ) -> View:
        """Build the index of another model beside the present one, compare both, swap once.

        What was embedded is kept: after a budget is used up or a provider fails, the same command
        goes on. The former index stays ready for `embedding rollback` for embedding_grace_days.
        """
        from memory_assets.pipeline.upkeep.migrate import estimate
        from memory_assets.pipeline.upkeep.migrate import migrate as move

        likely = estimate(run.workspace, to)
        if dry_run:
            data = {**likely.to_dict(), "dry_run": True}
            return View(data, lambda out: _estimate(out, likely))
        if not run.as_json:
            from memory_assets.cli.output import console

            _estimate(console(stderr=True), likely)
        with run.progress() as told:
            done = move(
                run.workspace, to, now=run.now, progress=partial(told, "embedding memories")
            )
        data = {**done.to_dict(), "estimate": likely.to_dict()}
        return View(data, lambda out: _moved(out, done), exit_code=_code(done))

    @command(commands, "rollback", writes=True)
    def rollback(run: Run) -> View:
        """Let the index that served before the last migration serve again."""
        from memory_assets.pipeline.upkeep.migrate import roll_back

        with run.progress() as told:
            done = roll_back(
                run.workspace, now=run.now, progress=partial(told, "embedding memories")
            )
        return View(done.to_dict(), lambda out: _moved(out, done), exit_code=_code(done))


def _code(done: MigrationResult) -> int:
    return 1 if done.pending else 0


def _status(out: Console, found: EmbeddingStatus) -> None:
    providers = table("provider:model", "role", "last run")
    last = {f"{s['provider']}:{s['model']}": s for s in found.last_run.get("providers", ())}
    for place, spec in enumerate(found.in_force):
        role = "first" if place == 0 else "warm" if spec in found.warm else "standby"
        # A model in a folder goes by the folder's name alone.
        folder = f"local:{spec.rpartition('/')[2]}" if spec.startswith("local:") else ""
        state = last.get(spec) or last.get(folder)
        said = "-"
        if state:
            said = f"{state['breaker']}, {state['tokens']} tokens, {state['dollars']:.4f} dollars"
            said += f", {state['last_problem']}" if state["last_problem"] else ""
        providers.add_row(text(spec), role, text(said))
    out.print(providers)
    if found.migrated_from:
        out.print(
            f"A migration put {text(found.in_force[0])} in the place of "
            f"{text(found.migrated_from)}, which the setting `embedding` still names."
        )
    if not found.spaces:
        out.print("Nothing has been published yet.")
        return
    spaces = table("space", "role", "rows", "pending", "kept until", right=("rows", "pending"))
    for space in found.spaces:
        spaces.add_row(
            text(f"{space['model']} ({space['dimension']})"),
            space["role"],
            str(space["rows"]),
            str(space["pending"]),
            space["until"][:16] or "-",
        )
    out.print(spaces)
    if found.building:
        out.print(f"{text(found.building)} is being built -> memory-assets nightly")


def _estimate(out: Console, found: MigrationEstimate) -> None:
    todo = found.texts - found.cached
    out.print(
        f"{text(found.spec)}: {found.memories} memories, {found.texts} different texts, "
        f"{found.cached} in the cache, {todo} to embed"
    )
    cost = f"about {found.tokens:,} tokens"
    if found.dollars_per_million_tokens:
        cost += f", {found.dollars:.4f} dollars at {found.dollars_per_million_tokens:g} per million"
    out.print(cost if todo else "nothing to pay for")
    if found.serves and found.dollars_per_million_tokens:
        out.print(
            "It serves already: nothing is embedded, unless other weights answer under its name "
            f"by now. Then that is a model of its own, and all {found.texts} texts are embedded."
        )
    if found.budget_dollars is not None and found.dollars > found.budget_dollars:
        out.print(f"One run may spend {found.budget_dollars:g} dollars: this takes several.")


def _moved(out: Console, done: MigrationResult) -> None:
    if done.comparison is not None:
        out.print(f"Both spaces on {done.comparison.questions} questions of the ledgers:")
        rows = table("leg", "space", *_FIGURES, right=_FIGURES)
        for leg in ("vector", "hybrid"):
            for name, legs in (
                ("former", done.comparison.before),
                ("new", done.comparison.after),
            ):
                cells = (f"{legs[leg][f]:.3f}" if f in legs[leg] else "-" for f in _FIGURES)
                rows.add_row(leg, name, *cells)
        out.print(rows)
    if done.tokens:
        out.print(f"{done.tokens:,} tokens were embedded, for {done.dollars:.4f} dollars.")
    if done.swapped:
        out.print(f"{text(done.spec)} serves from generation {done.generation} on.")
        if done.kept_until:
            out.print(
                f"The former index is kept until {done.kept_until[:16]}: `memory-assets embedding "
                "rollback` takes it back."
            )
    elif done.pending:
        out.print(
            f"{done.pending} texts have no vector yet ({done.problem}); the former index serves. "
            "Run the same command again: it goes on where it stopped."
        )
    else:
        out.print(f"{text(done.spec)}: {done.problem}.")
