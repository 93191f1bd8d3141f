"""``memory-assets mcp``: the registry as tools for agents."""

from __future__ import annotations

from typing import Annotated

import typer

from memory_assets.cli.acting import ActingUser, OwnClients, PersonaName, principal
from memory_assets.cli.command import Run, Tenant, command
from memory_assets.cli.output import View


def register(app: typer.Typer) -> None:
    """Adds the command."""

    @command(app, "mcp")
    def mcp(
        run: Run,
        tenant: Tenant = None,
        persona: PersonaName = None,
        as_user: ActingUser = None,
        own_client: OwnClients = None,
        session: Annotated[
            str | None, typer.Option("--session", help="The one session that the agent works in.")
        ] = None,
    ) -> View:
        """Serve search to agents over the Model Context Protocol (stdin and stdout).

        Whom the agent acts for is fixed here; no tool call can change it.
        """
        from memory_assets.mcp_server import McpTools, serve

        who = principal(tenant, persona, as_user, own_client)
        serve(McpTools(run.workspace, who, session))
        return View({}, lambda out: None)
