"""``memory-assets registry``: the published memories of one tenant."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_assets.cli import manual
from memory_assets.cli.acting import ActingUser, OwnClients, PersonaName, principal
from memory_assets.cli.command import Run, Tenant, command, group
from memory_assets.cli.output import View, table, text
from memory_assets.domain.reasons import in_words

if TYPE_CHECKING:
    from rich.console import Console

    from memory_assets.pipeline.inspect.browse import Listing


class Tier(StrEnum):
    """The tiers that a list can be narrowed to."""

    CORE = "core"
    RECALL = "recall"
    ARCHIVAL = "archival"


AsOf = Annotated[
    str | None,
    typer.Option("--as-of", metavar="TIME|GENERATION", help="Read an older state."),
]
MemoryId = Annotated[str, typer.Argument(metavar="MEMORY", help="The memory, such as mem-0001.")]


def register(app: typer.Typer) -> None:
    """Adds the group of commands."""
    registry = group(app, "registry", "Look at the published registry of a tenant.")
    manual.register(registry)

    @command(registry, "list", lists=True)
    def list_(
        run: Run,
        tenant: Tenant = None,
        tier: Annotated[
            Tier | None,
            typer.Option("--tier", metavar="core|recall|archival", help="Only this tier."),
        ] = None,
        everything: Annotated[
            bool, typer.Option("--all", help="Superseded and retired memories too.")
        ] = False,
        limit: Annotated[
            int | None,
            typer.Option("--limit", min=1, metavar="N", help="At most so many memories."),
        ] = None,
        persona: PersonaName = None,
        as_user: ActingUser = None,
        own_client: OwnClients = None,
        as_of: AsOf = None,
    ) -> View:
        """List the memories of a tenant."""
        from memory_assets.pipeline.inspect.browse import list_memories

        found = list_memories(
            run.workspace,
            tenant_id=tenant,
            tier=tier.value if tier else None,
            everything=everything,
            limit=limit,
            principal=principal(tenant, persona, as_user, own_client),
            as_of=as_of,
        )
        return View(found.to_dict(), lambda out: _listing(out, found), rows=found.memories)

    @command(registry, "show")
    def show(
        run: Run,
        memory: MemoryId,
        tenant: Tenant = None,
        persona: PersonaName = None,
        as_user: ActingUser = None,
        own_client: OwnClients = None,
        as_of: AsOf = None,
    ) -> View:
        """Show one memory in full."""
        from memory_assets.pipeline.inspect.browse import show_memory

        who = principal(tenant, persona, as_user, own_client)
        found = show_memory(run.workspace, memory, tenant_id=tenant, principal=who, as_of=as_of)
        return View(found, lambda out: _memory(out, found))


def _listing(out: Console, found: Listing) -> None:
    rows = table("memory", "tier", "subject", "detail")
    for row in found.memories:
        state = "" if row["status"] == "active" else f" ({row['status']})"
        rows.add_row(
            row["memory_id"], row["tier"], text(row["subject"] + state), text(row["detail"])
        )
    rows.columns[0].no_wrap = True
    out.print(rows)
    shown = len(found.memories)
    out.print(
        f"{shown} of {found.total} memories of {text(found.tenant_id)}, "
        f"generation {found.generation}"
    )
    for code, count in sorted(found.hidden.items()):
        out.print(f"{count} row(s) of the registry are not shown: {in_words(code)}")


def _memory(out: Console, found: Mapping[str, Any]) -> None:
    rows = table("", "")
    rows.show_header = False
    rows.columns[0].no_wrap = True
    for name, value in found.items():
        if name != "corroborations" and value not in (None, "", []):
            shown = ", ".join(map(str, value)) if isinstance(value, list) else value
            rows.add_row(name, text(shown))
    out.print(rows)
    if found["corroborations"]:
        out.print(f"\nSeen again ({len(found['corroborations'])})", style="bold")
        seen = table("session", "row", "kind", "generation", "said", right=("generation",))
        for row in found["corroborations"]:
            said = f"{row['subject']}: {row['detail']}"
            seen.add_row(
                text(row["session_id"]),
                str(row["decision_seq"]),
                row["kind"],
                str(row["generation"]),
                text(said),
            )
        out.print(seen)
