"""Who a command acts as: options for the principal, shared by the commands that read memories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from memory_assets.domain.visibility import Principal

PersonaName = Annotated[
    str | None,
    typer.Option(
        "--persona",
        metavar="PERSONA",
        help="Act as ADVISOR, SUPERVISOR, … instead of the tenant's ADMIN.",
    ),
]
ActingUser = Annotated[
    str | None, typer.Option("--as-user", metavar="USER", help="The persona's own user id.")
]
OwnClients = Annotated[
    list[str] | None,
    typer.Option("--own-client", metavar="CLIENT", help="A client of the persona; repeatable."),
]


def principal(
    tenant: str | None, persona: str | None, user: str | None, clients: list[str] | None
) -> Principal:
    """Who a command acts as: the named persona, or the ADMIN of the one tenant."""
    from memory_assets.domain.visibility import Principal

    if persona is None:
        return Principal.local(tenant or "")
    return Principal(tenant or "", persona.upper(), user, frozenset(clients or ()))
