"""``memory-assets review serve`` and ``token``: the pages, and who may sign in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from memory_assets.cli.command import Run, command
from memory_assets.cli.output import View, text
from memory_assets.cli.review_verdicts import Reviewer

Tenants = Annotated[
    list[str] | None,
    typer.Option("--tenant", metavar="TENANT", help="A tenant to review; repeatable."),
]


def register(group: typer.Typer) -> None:
    """Adds the commands to the group."""
    _serve(group)
    _token(group)


def _serve(group: typer.Typer) -> None:
    @command(group, "serve", writes=True)
    def serve(
        run: Run,
        host: Annotated[
            str, typer.Option("--host", metavar="ADDRESS", help="Address to listen on.")
        ] = "127.0.0.1",
        port: Annotated[
            int, typer.Option("--port", metavar="PORT", min=0, max=65535, help="0 takes any.")
        ] = 8765,
        tenant: Tenants = None,
        reviewers: Annotated[
            Path | None,
            typer.Option(
                "--reviewers",
                metavar="FILE",
                show_default="reviewers.toml in the home folder",
                help="File of reviewers and the hashes of their tokens.",
            ),
        ] = None,
        proxy_header: Annotated[
            str | None,
            typer.Option(
                "--proxy-header",
                metavar="HEADER",
                help="Header in which a trusted proxy names the signed-in user.",
            ),
        ] = None,
        trusted_proxy: Annotated[
            list[str] | None,
            typer.Option(
                "--trusted-proxy",
                metavar="ADDRESS",
                show_default="127.0.0.1 and ::1",
                help="Whose header is believed; repeatable.",
            ),
        ] = None,
        name: Annotated[
            list[str] | None,
            typer.Option(
                "--name", metavar="HOST", help="Host name under which it is reached; repeatable."
            ),
        ] = None,
        https: Annotated[
            bool, typer.Option("--https", help="It is reached through HTTPS: cookies demand it.")
        ] = False,
        reviewer: Reviewer = None,
    ) -> View:
        """Serve the review pages until interrupted.

        On loopback, without a file of reviewers, it prints a link with a token for this run. A
        public address needs a file of reviewers or a proxy that signs them in.
        """
        from memory_assets.pipeline.inspect.tenants import require_tenant
        from memory_assets.pipeline.review.decide import named_reviewer
        from memory_assets.pipeline.review.state import ReviewState
        from memory_assets.web.serve import prepare
        from memory_assets.web.serve import run as serve_pages

        workspace = run.workspace
        if tenant:
            tenants = [require_tenant(workspace, one) for one in tenant]
        else:
            tenants = ReviewState(workspace, now=run.now).tenants()
        served = prepare(
            workspace,
            host=host,
            port=port,
            tenants=tenants,
            reviewer=named_reviewer(reviewer),
            reviewers_file=reviewers,
            proxy_header=proxy_header,
            trusted_proxies=trusted_proxy or (),
            names=name or (),
            behind_https=https,
        )
        serve_pages(
            workspace, served, ready=lambda url: typer.echo(f"Review pages: {url}", err=run.as_json)
        )
        return View({"stopped": True}, lambda out: out.print("Stopped."))


def _token(group: typer.Typer) -> None:
    @command(group, "token", writes=True)
    def token(
        run: Run,
        name: Annotated[str, typer.Argument(metavar="NAME", help="The reviewer's name.")],
        tenant: Tenants = None,
        persona: Annotated[
            str,
            typer.Option("--persona", metavar="PERSONA", help="SUPERVISOR, ADMIN or ADVISOR."),
        ] = "SUPERVISOR",
        user: Annotated[
            str | None, typer.Option("--user", metavar="USER", help="The persona's own user id.")
        ] = None,
        own_client: Annotated[
            list[str] | None,
            typer.Option(
                "--own-client", metavar="CLIENT", help="A client of an ADVISOR; repeatable."
            ),
        ] = None,
        reviewers: Annotated[
            Path | None,
            typer.Option(
                "--reviewers",
                metavar="FILE",
                show_default="reviewers.toml in the home folder",
                help="File of reviewers.",
            ),
        ] = None,
    ) -> View:
        """Make a token with which somebody signs in to the review pages; it is shown this once.

        The file keeps its hash only. A new token replaces the old one.
        """
        from memory_assets.pipeline.inspect.tenants import require_tenant
        from memory_assets.web.reviewers import new_token
        from memory_assets.web.serve import REVIEWERS_FILE

        workspace = run.workspace
        tenants = [require_tenant(workspace, one) for one in tenant or [""]]
        path = reviewers or workspace.home.root / REVIEWERS_FILE
        made = new_token(
            path,
            name,
            tenants=tenants,
            persona=persona.upper(),
            user=user,
            clients=own_client or (),
        )
        data = {"name": name, "tenants": tenants, "token": made, "file": str(path)}
        return View(data, lambda out: out.print(text(f"Token of {name}: {made}"), soft_wrap=True))
