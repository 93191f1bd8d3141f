"""Commands that bring records in from another registry, and that remove records for good."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_assets.cli.command import Run, Tenant, command
from memory_assets.cli.output import View, table, text

if TYPE_CHECKING:
    from rich.console import Console

    from memory_assets.pipeline.upkeep.legacy_cleanup import CleanupPlan

By = Annotated[
    str, typer.Option("--by", metavar="NAME", help="The person who asks for it; goes on record.")
]
Apply = Annotated[bool, typer.Option("--apply", help="Do it; without this, only show the plan.")]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    _register_erase(app)
    _register_legacy(app)
    _register_exchange(app)


def _register_erase(app: typer.Typer) -> None:
    @command(app, "erase", writes=True)
    def erase(
        run: Run,
        by: By,
        tenant: Tenant = None,
        client: Annotated[
            str | None, typer.Option("--client", metavar="CLIENT", help="All about this client.")
        ] = None,
        user: Annotated[
            str | None, typer.Option("--user", metavar="USER", help="All of this user's sessions.")
        ] = None,
        memory: Annotated[
            list[str] | None,
            typer.Option("--memory", metavar="MEMORY", help="This memory; repeatable."),
        ] = None,
        redact_ledgers: Annotated[
            bool,
            typer.Option("--redact-ledgers", help="Blank the rows in the ledgers too, in place."),
        ] = False,
        apply: Apply = False,
    ) -> View:
        """Erase a client, a user or memories from every file; earlier generations are destroyed.

        Without --apply only the plan is shown. Ledgers belong to their writers: lines that hold it
        are listed, or redacted with --redact-ledgers.
        """
        from memory_assets.pipeline.inspect.tenants import require_tenant
        from memory_assets.pipeline.upkeep.erase import Subject, plan_erasure
        from memory_assets.pipeline.upkeep.erase import erase as carry_out

        known = require_tenant(run.workspace, tenant)
        subject = Subject(known, client, user, tuple(memory or ()))
        if not apply:
            plan = plan_erasure(run.workspace, subject).to_dict()
            return View({**plan, "applied": False}, lambda out: _erasure(out, plan, done=False))
        done = carry_out(
            run.workspace,
            subject,
            now=run.now,
            by=f"reviewer {by}",
            redact_ledgers=redact_ledgers,
        ).to_dict()
        return View({**done, "applied": True}, lambda out: _erasure(out, done, done=True))


def _register_legacy(app: typer.Typer) -> None:
    @command(app, "legacy-cleanup", writes=True)
    def legacy_cleanup(
        run: Run,
        by: Annotated[
            str | None, typer.Option("--by", metavar="NAME", help="Who asks for it.")
        ] = None,
        apply: Apply = False,
    ) -> View:
        """Find records that are no memories wherever they lie; remove them with --apply."""
        from memory_assets.errors import UsageError
        from memory_assets.pipeline.upkeep.legacy_cleanup import clean_up, plan_cleanup

        plan = plan_cleanup(run.workspace)
        if not apply or plan.empty:
            data = {**plan.to_dict(), "applied": False}
            return View(data, lambda out: _cleanup(out, plan, ()))
        if not by:
            raise UsageError("Nobody is named for the receipt.", remedy="add --by NAME to --apply.")
        done = clean_up(run.workspace, plan, now=run.now, by=f"reviewer {by}")
        data = {**done.to_dict(), "applied": True}
        return View(data, lambda out: _cleanup(out, plan, done.receipts))


def _register_exchange(app: typer.Typer) -> None:
    @command(app, "import-registry", writes=True)
    def import_registry(
        run: Run,
        file: Annotated[Path, typer.Argument(metavar="FILE", help="A registry.jsonl.")],
        by: By,
        tenant: Tenant = None,
        apply: Apply = False,
    ) -> View:
        """Bring in the records of another registry under their own ids.

        It must come before the tenant's first promotion. Records of schema choices are stored for
        legacy-cleanup and never found by a search.
        """
        from memory_assets.errors import UnknownTenantError
        from memory_assets.pipeline.exchange import legacy_import

        if not tenant:
            raise UnknownTenantError("No tenant was named.", remedy="add --tenant TENANT.")
        plan = legacy_import.plan_import(
            run.workspace, file, tenant_id=tenant, by=f"reviewer {by}", now=run.now
        )
        if apply:
            legacy_import.import_registry(run.workspace, plan, now=run.now)
        data = {**plan.to_dict(), "applied": apply}
        return View(data, lambda out: _import(out, data))

    @command(app, "export-registry", lists=True)
    def export_registry(run: Run, tenant: Tenant = None) -> View:
        """Print the active memories of a tenant in the form of registry.jsonl."""
        from memory_assets.pipeline.exchange.legacy_import import exported_rows
        from memory_assets.pipeline.inspect.tenants import require_tenant

        rows = exported_rows(run.workspace, require_tenant(run.workspace, tenant))
        return View(rows, lambda out: _lines(out, rows))


def _lines(out: Console, rows: list[dict[str, Any]]) -> None:
    for row in rows:
        out.print(json.dumps(row, ensure_ascii=False), soft_wrap=True)


def _erasure(out: Console, found: dict[str, Any], *, done: bool) -> None:
    said = "were erased" if done else "would be erased"
    out.print(
        f"{_counted(found['memories'], 'memory', 'memories')} and "
        f"{_counted(found['rows'], 'row', 'rows')} {said}."
    )
    if done and found["published"]:
        out.print(f"Generation {found['generation']} is published; earlier ones are destroyed.")
    elif done:
        out.print(f"Generation {found['generation']} stands: it held nothing of this any more.")
    if done and found["receipt"]:
        out.print(f"Receipt: {text(found['receipt'])}")
    left = found["left_to_the_owner"] if done else [*found["ledger_lines"], *found["mentions"]]
    if left:
        counted = _counted(len(left), "line is", "lines are")
        out.print(f"{counted} left to their owner:", style="bold")
        for line in left:
            out.print(text(f"{line['path']}:{line['line']} {line['why']}"), soft_wrap=True)
    if found["memories_that_name_it"]:
        out.print("Not about it, but naming it; --memory erases these:", style="bold")
        for row in found["memories_that_name_it"]:
            out.print(text(f"{row['memory_id']} in {', '.join(row['columns'])}"))
    if not done:
        out.print("Nothing was changed; add --apply to do it.")


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _cleanup(out: Console, plan: CleanupPlan, receipts: tuple[Path, ...]) -> None:
    if plan.empty:
        out.print("No record of this kind is left.")
        return
    rows = table("memory", "type", "subject", "why")
    for record in plan.records:
        named = f"{record.tenant_id}/{record.memory_id}"
        rows.add_row(text(named), record.type, text(record.subject), text(record.reason))
    out.print(rows)
    out.print(
        f"{len(plan.records)} records, {plan.index_rows} index rows, {plan.index_versions} index "
        f"versions, {len(plan.generations)} earlier generations"
    )
    for path in receipts:
        out.print(f"Receipt: {text(path)}")
    if not receipts:
        out.print("Nothing was changed; add --apply --by NAME to remove them.")


def _import(out: Console, data: dict[str, Any]) -> None:
    said = "came in" if data["applied"] else "would come in"
    out.print(f"{data['records']} records {said}, {data['searchable']} of them searchable.")
    for reason, count in data["retired"].items():
        out.print(text(f"{count} only for the cleanup: {reason}"))
    for name, what in (("known_already", "known already"), ("buried", "removed for good before")):
        if data[name]:
            out.print(f"{data[name]} {what}")
    if not data["applied"]:
        out.print("Nothing was changed; add --apply to do it.")
