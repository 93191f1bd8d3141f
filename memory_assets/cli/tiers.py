"""``memory-assets core`` and ``memory-assets tiers``: what agents are told first, and why."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_assets.cli.acting import ActingUser, OwnClients, PersonaName, principal
from memory_assets.cli.command import Run, Tenant, command, group
from memory_assets.cli.output import View, table, text
from memory_assets.cli.registry import AsOf

if TYPE_CHECKING:
    from rich.console import Console

    from memory_assets.pipeline.upkeep.retier import RetierResult

DEFAULT_OVERRIDE_DAYS = 90


class Tier(StrEnum):
    """Where a memory lies."""

    CORE = "core"
    RECALL = "recall"
    ARCHIVAL = "archival"


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    _core(app)
    tiers = group(app, "tiers", "Core, recall, archival: judge, override, look back.")
    _judge(tiers)
    _set(tiers)
    _history(tiers)


def _core(app: typer.Typer) -> None:
    @command(app, "core")
    def core(
        run: Run,
        tenant: Tenant = None,
        client: Annotated[
            str | None, typer.Option("--client", metavar="CLIENT", help="With this client's rows.")
        ] = None,
        user: Annotated[
            str | None, typer.Option("--user", metavar="USER", help="With this user's rows.")
        ] = None,
        persona: Annotated[
            str, typer.Option("--persona", metavar="PERSONA", help="For whom it is made.")
        ] = "ADVISOR",
        as_of: AsOf = None,
    ) -> View:
        """Print the core block: what an agent is told before its first question.

        At most 2,048 bytes, whole memories only. A session keeps the generation (or the time) that
        it began with as --as-of, and reads the same bytes however long it lives.
        """
        from memory_assets.domain.visibility import Principal
        from memory_assets.pipeline.inspect.core_blocks import core_block
        from memory_assets.steps.registry.as_of import parse_as_of

        clients = frozenset({client} if client else ())
        who = Principal(tenant or "", persona.upper(), user, clients)
        at = parse_as_of(as_of) if as_of is not None else None
        found = core_block(run.workspace, who, tenant, as_of=at)
        return View(found.to_dict(), lambda out: _block(out, found.block.text))


def _judge(tiers: typer.Typer) -> None:
    @command(tiers, "judge", writes=True)
    def judge(
        run: Run,
        dry_run: Annotated[
            bool, typer.Option("--dry-run", help="Only say what would change.")
        ] = False,
    ) -> View:
        """Apply the tier rules: the changes take effect with the next publication."""
        from memory_assets.pipeline.upkeep.retier import judge_tiers, retier

        found = (judge_tiers if dry_run else retier)(run.workspace, now=run.now)
        return View(found.to_dict(), lambda out: _changes(out, found))


def _set(tiers: typer.Typer) -> None:
    @command(tiers, "set", writes=True)
    def set_(
        run: Run,
        memories: Annotated[
            list[str], typer.Argument(metavar="MEMORY...", help="Such as mem-0001.")
        ],
        tier: Annotated[
            Tier, typer.Option("--tier", metavar="core|recall|archival", help="Where it shall lie.")
        ],
        by: Annotated[
            str, typer.Option("--by", metavar="NAME", help="Who decides; goes on record.")
        ],
        days: Annotated[
            float, typer.Option("--days", min=0.01, max=3650, help="For how long it holds.")
        ] = DEFAULT_OVERRIDE_DAYS,
        reason: Annotated[
            str, typer.Option("--reason", metavar="TEXT", help="Why; goes on record.")
        ] = "",
        tenant: Tenant = None,
        persona: PersonaName = None,
        as_user: ActingUser = None,
        own_client: OwnClients = None,
    ) -> View:
        """Override the tier of memories until a time; the rules leave them alone until then.

        It takes effect with the next publication. Who may see a memory does not change.
        """
        from memory_assets.pipeline.inspect.tenants import require_tenant
        from memory_assets.pipeline.upkeep.retier import override_tier

        until = run.now + timedelta(days=days)
        override_tier(
            run.workspace,
            principal(tenant, persona, as_user, own_client),
            require_tenant(run.workspace, tenant),
            memories,
            tier.value,
            until=until,
            by=by,
            reason=reason,
            now=run.now,
        )
        data = {"memory_ids": memories, "tier": tier.value, "until": until.isoformat()}
        return View(data, lambda out: _override(out, memories, tier.value, until))


def _history(tiers: typer.Typer) -> None:
    @command(tiers, "history", lists=True)
    def history(run: Run, tenant: Tenant = None) -> View:
        """Show how many memories lay in each tier, generation by generation."""
        from memory_assets.pipeline.inspect.tenants import require_tenant
        from memory_assets.pipeline.upkeep.retier import tier_history

        name = require_tenant(run.workspace, tenant)
        rows = tier_history(run.workspace.registry(), name).to_dicts()
        return View(rows, lambda out: _counts(out, rows))


def _block(out: Console, block: str) -> None:
    """As it is: whoever pipes it into a prompt must get the very bytes that were counted."""
    out.print(text(block), end="", soft_wrap=True)


def _changes(out: Console, found: RetierResult) -> None:
    shown = table("memory", "to", "rule", "why")
    for tenant, memory, change in found.changes:
        shown.add_row(text(f"{tenant}/{memory}"), change.tier, change.rule, change.reason)
    if found.changes:
        out.print(shown)
    tiers = ", ".join(f"{n} {tier}" for tier, n in found.by_tier.items())
    out.print(f"{len(found.changes)} change(s) of {found.judged} memories ({tiers or 'none'}).")


def _override(out: Console, memories: list[str], tier: str, until: datetime) -> None:
    what = text(", ".join(memories))
    out.print(f"{what}: {tier} until {until:%Y-%m-%d %H:%M} UTC, from the next publication on.")


def _counts(out: Console, rows: list[dict[str, Any]]) -> None:
    names = ("generation", "core", "recall", "archival")
    shown = table(*names, right=names)
    for row in rows:
        shown.add_row(*(str(row[name]) for name in names))
    out.print(shown)
