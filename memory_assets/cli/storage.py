"""Commands that keep a home in order: generations, drift, garbage, backups; and what removes."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_assets.cli import removal
from memory_assets.cli.command import Run, Tenant, command
from memory_assets.cli.output import View, table, text

if TYPE_CHECKING:
    from rich.console import Console

    from memory_assets.pipeline.upkeep.upkeep import RepairResult
    from memory_assets.steps.index.drift import DriftReport
    from memory_assets.steps.registry.as_of import GenerationDiff
    from memory_assets.storage.backup import BackupResult
    from memory_assets.storage.retention import GcPlan

_KEYS_SHOWN = 20


def register(app: typer.Typer) -> None:
    """Adds the commands, and those that import and remove."""
    removal.register(app)
    _register_generations(app)
    _register_upkeep(app)
    _register_backups(app)


def _register_generations(app: typer.Typer) -> None:
    @command(app, "generations", lists=True)
    def generations(run: Run) -> View:
        """List the published generations that can still be read, oldest first."""
        from memory_assets.pipeline.upkeep.upkeep import kept_generations

        rows = kept_generations(run.workspace)
        return View(rows, lambda out: _generations(out, rows))

    @command(app, "diff")
    def diff(
        run: Run,
        older: Annotated[
            str, typer.Argument(metavar="GEN1", help="The earlier generation, or a time.")
        ],
        newer: Annotated[
            str, typer.Argument(metavar="GEN2", help="The later generation, or a time.")
        ],
        tenant: Tenant = None,
    ) -> View:
        """Show what was added, superseded, retired or re-tiered between two generations."""
        from memory_assets.pipeline.inspect.tenants import require_tenant
        from memory_assets.steps.registry.as_of import compare, generation_at, parse_as_of

        store = run.workspace.generations
        first, second = (generation_at(store, parse_as_of(g)) for g in (older, newer))
        known = require_tenant(run.workspace, tenant)
        found = compare(store, first, second, tenant_id=known)
        return View(found.to_dict(), lambda out: _difference(out, found))


def _register_upkeep(app: typer.Typer) -> None:
    @command(app, "repair-index", writes=True)
    def repair(run: Run) -> View:
        """Mend an index that differs from the registry; one that cannot be read is built anew."""
        from memory_assets.pipeline.upkeep.upkeep import repair_index

        with run.progress() as told:
            found = repair_index(
                run.workspace, now=run.now, progress=partial(told, "embedding memories")
            )
        code = 0 if found.after.clean else 1
        return View(found.to_dict(), lambda out: _repaired(out, found), exit_code=code)

    @command(app, "gc", writes=True)
    def gc(
        run: Run,
        dry_run: Annotated[
            bool, typer.Option("--dry-run", help="Only show what would be removed.")
        ] = False,
    ) -> View:
        """Remove generations beyond keep_generations and keep_days, and what only they named."""
        from memory_assets.pipeline.upkeep.upkeep import collect_garbage

        plan = collect_garbage(run.workspace, now=run.now, dry_run=dry_run)
        data = {**plan.to_dict(), "dry_run": dry_run}
        return View(data, lambda out: _collected(out, plan, dry_run=dry_run))


def _register_backups(app: typer.Typer) -> None:
    @command(app, "backup", writes=True)
    def backup(
        run: Run,
        target: Annotated[
            Path, typer.Argument(metavar="TARGET", help="A folder that is empty or does not exist.")
        ],
    ) -> View:
        """Copy the published generation, whole, while nights may go on."""
        from memory_assets.storage.backup import back_up

        with run.progress() as told:
            made = back_up(
                run.workspace.generations,
                target,
                now=run.now,
                progress=partial(told, "copying files"),
            )
        return View(made.to_dict(), lambda out: _copied(out, made, "Backed up"))

    @command(app, "restore", writes=True)
    def restore(
        run: Run,
        source: Annotated[Path, typer.Argument(metavar="BACKUP", help="The folder of a backup.")],
    ) -> View:
        """Restore a backup into an empty --home; every file is compared with its hash."""
        from memory_assets.storage.backup import restore as copy_back

        with run.progress() as told:
            made = copy_back(source, run.workspace.home, progress=partial(told, "restoring files"))
        return View(made.to_dict(), lambda out: _copied(out, made, "Restored"))


def drift_view(found: DriftReport) -> View:
    """What ``doctor --drift`` answers; exit code 1 when something has drifted."""
    code = 0 if found.clean else 1
    return View(found.to_dict(), lambda out: _drift(out, found), exit_code=code)


def _generations(out: Console, rows: list[dict[str, Any]]) -> None:
    if not rows:
        out.print("Nothing has been published yet.")
        return
    shown = table("gen.", "published at", "memories", "active", "run", right=("gen.",))
    for row in rows:
        shown.add_row(
            str(row["generation"]),
            row["published_at"],
            str(row.get("memories", "")),
            str(row.get("active", "")),
            text(row["run_id"]),
        )
    out.print(shown)


def _difference(out: Console, found: GenerationDiff) -> None:
    if found.empty:
        out.print(f"Generations {found.older} and {found.newer} say the same.")
    for name, rows in found.sections():
        if not rows:
            continue
        out.print(f"{name} ({len(rows)})", style="bold")
        shown = table("memory", "what")
        shown.show_header = False
        for row in rows:
            said = ", ".join(f"{v}" for k, v in row.items() if k != "memory_id" and v is not None)
            shown.add_row(row["memory_id"], text(said))
        out.print(shown)
    if found.removed:
        out.print(f"{found.removed} memories were removed for good.")


def _drift(out: Console, found: DriftReport) -> None:
    for space in found.spaces:
        state = "served" if space.served else "newer than what is served"
        out.print(f"{space.space_id}, version {space.version} ({state})", style="bold")
        if space.damage:
            out.print(text(space.damage))
        for name in ("missing", "orphans", "stale", "doubled"):
            keys = getattr(space, name)
            if keys:
                more = f" and {len(keys) - _KEYS_SHOWN} more" if len(keys) > _KEYS_SHOWN else ""
                listed = ", ".join(keys[:_KEYS_SHOWN])
                out.print(f"{name} ({len(keys)}): {text(listed)}{more}")
        if space.clean:
            out.print(f"{space.rows} rows, the same as active memories")
        else:
            out.print(f"-> {space.mend}")
        if space.pending:
            out.print(f"{space.pending} rows have no vector -> memory-assets reindex")
    if not found.spaces:
        out.print("Nothing has been published yet.")


def _repaired(out: Console, found: RepairResult) -> None:
    if found.before.clean:
        out.print("Nothing had drifted.")
        return
    _drift(out, found.before)
    done = "The index was built anew." if found.rebuilt else "The index was put right."
    out.print(done if found.after.clean else "The index still differs from the registry.")


def _collected(out: Console, plan: GcPlan, *, dry_run: bool) -> None:
    would = "would be " if dry_run else ""
    numbers = ", ".join(map(str, plan.generations)) or "none"
    out.print(f"Generations {would}removed: {numbers}")
    out.print(f"Parts {would}removed: {len(plan.parts)} ({plan.part_bytes:,} bytes)")
    out.print(f"Kept: {', '.join(map(str, plan.kept)) or 'none'}")


def _copied(out: Console, made: BackupResult, what: str) -> None:
    out.print(
        f"{what}: generation {made.generation}, {made.files} files, {made.bytes:,} bytes, in "
        f"{text(made.target)}"
    )
    for space in made.unreadable:
        out.print(
            text(f"The index of {space} cannot be read, so its copy cannot either."), style="yellow"
        )
        out.print("-> memory-assets repair-index, here or after a restore")
