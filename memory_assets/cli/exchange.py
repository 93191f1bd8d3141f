"""``memory-assets export`` and ``import``: snapshots of a tenant, and memories of other systems."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_assets.cli.acting import ActingUser, OwnClients, PersonaName, principal
from memory_assets.cli.command import Run, Tenant, command
from memory_assets.cli.output import View, text
from memory_assets.cli.registry import AsOf

if TYPE_CHECKING:
    from rich.console import Console

_SHOWN = 20


class Format(StrEnum):
    """How an export is written."""

    JSONL = "jsonl"
    PARQUET = "parquet"
    MARKDOWN = "markdown"
    REGISTRY = "registry"


class Origin(StrEnum):
    """What an imported file is."""

    SNAPSHOT = "snapshot"
    REGISTRY = "registry"
    MEM0 = "mem0"
    MCP = "mcp"


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    _export(app)
    _import(app)


def _export(app: typer.Typer) -> None:
    @command(app, "export")
    def export(
        run: Run,
        format: Annotated[
            Format,
            typer.Option(
                "--format",
                metavar="jsonl|parquet|markdown|registry",
                help="registry is the form of registry.jsonl.",
            ),
        ] = Format.JSONL,
        output: Annotated[
            Path | None,
            typer.Option(
                "--output", metavar="FILE", show_default="stdout", help="Where to write it."
            ),
        ] = None,
        tenant: Tenant = None,
        persona: PersonaName = None,
        as_user: ActingUser = None,
        own_client: OwnClients = None,
        as_of: AsOf = None,
    ) -> View:
        """Export the active memories of a tenant: whole, and the same bytes for the same state.

        Each format but registry holds everything that import needs to bring them back, tier
        included.
        """
        from memory_assets.pipeline.exchange.snapshots import export_tenant
        from memory_assets.pipeline.inspect.tenants import require_tenant
        from memory_assets.steps.registry.as_of import parse_as_of
        from memory_assets.storage.files import write_atomically

        found = export_tenant(
            run.workspace,
            principal(tenant, persona, as_user, own_client),
            require_tenant(run.workspace, tenant),
            format.value,
            as_of=parse_as_of(as_of) if as_of is not None else None,
        )
        if output is None:
            sys.stdout.buffer.write(found.data)
            return View({}, lambda out: None, silent=True)
        write_atomically(output, found.data)
        data = {
            "file": str(output),
            "format": found.format,
            "memories": found.memories,
            "generation": found.generation,
            "bytes": len(found.data),
        }
        return View(data, lambda out: out.print(text(_exported(data)), soft_wrap=True))


def _import(app: typer.Typer) -> None:
    @command(app, "import", writes=True)
    def import_(
        run: Run,
        file: Annotated[Path, typer.Argument(metavar="FILE", help="What an export wrote.")],
        by: Annotated[
            str, typer.Option("--by", metavar="NAME", help="Who asks for it; goes on record.")
        ],
        origin: Annotated[
            Origin,
            typer.Option(
                "--from",
                metavar="snapshot|registry|mem0|mcp",
                help="An export of this program, a registry.jsonl, a mem0 get_all export, or the "
                "file of an MCP memory server.",
            ),
        ] = Origin.SNAPSHOT,
        apply: Annotated[
            bool, typer.Option("--apply", help="Do it; without this, only show the plan.")
        ] = False,
        tenant: Tenant = None,
    ) -> View:
        """Import a snapshot under its own ids, or another system's memories as candidates.

        A snapshot or registry.jsonl must come before the tenant's first promotion. Memories of
        other systems become a session of free-text events, and pass extraction and review like
        everything else.
        """
        from memory_assets.domain.tenants import tenant_table
        from memory_assets.errors import UnknownTenantError

        if not tenant:
            raise UnknownTenantError("No tenant was named.", remedy="add --tenant TENANT.")
        settings = run.workspace.settings
        if not settings.is_known(tenant):
            raise UnknownTenantError(
                f"Nothing of {tenant!r} would be consolidated: it has no entry that is enabled.",
                where=str(settings.tenants_file),
                remedy=f"mend the name, or add {tenant_table(tenant)}.",
            )
        data = {**_planned(run, file, origin, tenant, f"reviewer {by}", apply), "applied": apply}
        return View(data, lambda out: _told(out, data))


def _planned(
    run: Run, file: Path, origin: Origin, tenant: str, by: str, apply: bool
) -> dict[str, Any]:
    if origin in (Origin.MEM0, Origin.MCP):
        from memory_assets.pipeline.exchange.outside import plan_outside, write_outside

        ledgers = run.workspace.settings.ledgers
        outside = plan_outside(ledgers, file, origin.value, tenant_id=tenant, now=run.now)
        if apply:
            write_outside(ledgers, outside)
        return outside.to_dict()
    if origin is Origin.REGISTRY:
        from memory_assets.pipeline.exchange.legacy_import import import_registry, plan_import

        records = plan_import(run.workspace, file, tenant_id=tenant, by=by, now=run.now)
        if apply:
            import_registry(run.workspace, records, now=run.now)
        return records.to_dict()
    from memory_assets.pipeline.exchange.snapshots import import_snapshot, plan_snapshot

    plan = plan_snapshot(run.workspace, file, tenant_id=tenant, by=by, now=run.now)
    if apply:
        import_snapshot(run.workspace, plan, now=run.now)
    return plan.to_dict()


def _exported(data: dict[str, Any]) -> str:
    return f"{data['memories']} memories of generation {data['generation']} in {data['file']}."


def _told(out: Console, data: dict[str, Any]) -> None:
    if "events" in data:
        place = text(f"{data['tenant_id']}/{data['session_id']}")
        said = "were imported before" if data["imported_before"] else "become candidates"
        out.print(f"{data['events']} memories {said}: session {place}.")
        for one in data["left_out"][:_SHOWN]:
            out.print(text(f"left out  {one}"))
        if len(data["left_out"]) > _SHOWN:
            out.print(f"and {len(data['left_out']) - _SHOWN} more: add --json for all of them")
    else:
        out.print(f"{data['records']} memories, {data['searchable']} of them searchable.")
        for name, what in (("known_already", "known already"), ("buried", "removed for good")):
            if data[name]:
                out.print(f"{data[name]} {what}.")
    if not data["applied"]:
        out.print("Nothing was changed; add --apply to do it.")
    elif "events" in data:
        out.print("The next night takes them in.")
