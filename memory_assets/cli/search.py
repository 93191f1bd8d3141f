"""``memory-assets search``: what the registry knows about a question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_assets.cli import evaluate, mcp, use
from memory_assets.cli.acting import ActingUser, OwnClients, PersonaName, principal
from memory_assets.cli.command import Run, Tenant, command
from memory_assets.cli.output import View, table, text
from memory_assets.cli.registry import Tier

if TYPE_CHECKING:
    from rich.console import Console

    from memory_assets.steps.search.types import SearchResult


def register(app: typer.Typer) -> None:
    """Adds the command, and the others that work on what a search finds."""
    for module in (use, evaluate, mcp):
        module.register(app)

    @command(app, "search", lists=True)
    def search(
        run: Run,
        query: Annotated[str, typer.Argument(metavar="QUERY", help="The question, in words.")],
        tenant: Tenant = None,
        k: Annotated[int, typer.Option("-k", min=1, max=1000, help="At most so many hits.")] = 10,
        tier: Annotated[
            Tier | None,
            typer.Option("--tier", metavar="core|recall|archival", help="Only this tier."),
        ] = None,
        user: Annotated[
            str | None, typer.Option("--user", help="Only memories of this user's sessions.")
        ] = None,
        client: Annotated[
            str | None, typer.Option("--client", help="Only memories about this client.")
        ] = None,
        session: Annotated[
            str | None,
            typer.Option("--session", help="Leave out what this session decided already."),
        ] = None,
        persona: PersonaName = None,
        as_user: ActingUser = None,
        own_client: OwnClients = None,
        as_of: Annotated[
            str | None,
            typer.Option("--as-of", metavar="TIME|GENERATION", help="Search an older state."),
        ] = None,
        explain: Annotated[
            bool,
            typer.Option("--explain", help="Terms, weights, ranks, and why others were dropped."),
        ] = False,
    ) -> View:
        """Search the memories of a tenant, best first."""
        from memory_assets.steps.registry.as_of import parse_as_of
        from memory_assets.steps.search.types import SearchRequest

        request = SearchRequest(
            query,
            principal(tenant, persona, as_user, own_client),
            run.now,
            k=k,
            tier=tier.value if tier else None,
            user=user,
            client=client,
            session=session,
            as_of=None if as_of is None else parse_as_of(as_of),
            explain=explain,
        )
        found = run.workspace.search(request)
        warn(found)
        data: Any = found.to_dict() if explain else found.to_list()
        return View(data, lambda out: _hits(out, found, explain=explain), rows=found.to_list())


def warn(found: SearchResult) -> None:
    """Tells on stderr what the hits alone do not show."""
    if found.degraded is not None:
        typer.echo(f"Warning: searched by words only, without vectors ({found.degraded})", err=True)
    for notice in found.notices:
        typer.echo(f"Note: {notice}", err=True)


def _hits(out: Console, found: SearchResult, *, explain: bool) -> None:
    if not found.hits:
        out.print(f"Nothing found among {found.considered} memories.")
    rows = table("memory", "score", "cos", "text", "rec", "use", "subject", "detail")
    for hit in found.hits:
        terms = (f"{hit.terms[t]:.2f}" for t in ("cosine", "text", "recency", "access"))
        subject, detail = text(hit.content["subject"]), text(hit.content["detail"])
        rows.add_row(hit.memory_id, f"{hit.score:.3f}", *terms, subject, detail)
    for column in rows.columns[:6]:
        column.no_wrap = True
    if found.hits:
        out.print(rows)
    if explain:
        _explained(out, found)


def _explained(out: Console, found: SearchResult) -> None:
    w, c = found.weights, found.calibration
    out.print(
        f"\nscore = {w.cosine:g}·cos + {w.text:g}·text + {w.recency:g}·rec + {w.access:g}·use; "
        f"cos from {c.cosine_low:.3f} to {c.cosine_high:.3f}; text = s/(s+{c.text_k:.2f})"
    )
    exact = "no other one can score higher" if found.exact else "others might score as high"
    out.print(f"generation {found.generation}, {found.considered} memories considered, {exact}")
    ranks = table("memory", "vector", "text", "recency", "use", "supersedes")
    for hit in found.hits:
        places = (hit.ranks.get(leg) for leg in ("vector", "text", "recency", "access"))
        shown = ("-" if place is None else str(place) for place in places)
        ranks.add_row(hit.memory_id, *shown, ", ".join(hit.supersedes))
    if found.hits:
        out.print("\nRank in each leg", style="bold")
        out.print(ranks)
    if found.dropped:
        out.print("\nLeft out", style="bold")
    for drop in found.dropped:
        out.print(f"{drop.memory_id}  {drop.code}: {text(drop.reason)}")
