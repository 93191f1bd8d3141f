"""Jobs that keep a home in order, and the check that finds drift."""

import dagster as dg
from pydantic import Field

from memory_assets.defs.checks import check_outcome
from memory_assets.defs.failures import as_failures
from memory_assets.defs.registry import PUBLISHER_POOL
from memory_assets.defs.resources import WorkspaceResource, now
from memory_assets.errors import IndexMismatch


@dg.asset_check(
    asset="published_generation",
    name="index_has_not_drifted",
    description="Compares the registry with every index of its generation, row by row, as it is "
    "served and as it lies on disk; the job `repair_index` mends what it lists.",
)
def index_has_not_drifted(workspace: WorkspaceResource) -> dg.AssetCheckResult:
    """Warns, since the next night takes back whatever nobody published."""
    from memory_assets.pipeline.upkeep.upkeep import drift_of

    with as_failures():
        found = drift_of(workspace.open())
    counts = found.to_metadata()
    kinds = ("missing", "orphans", "stale", "doubled", "damaged")
    said = ", ".join(f"{counts[kind]} {kind}" for kind in kinds if counts[kind])
    mends = sorted({s.mend for s in found.spaces if s.mend})
    return check_outcome(
        "index_has_not_drifted",
        f"The index differs from generation {found.generation} of the registry: {said}."
        if said
        else f"{found.memories} memories, each as it was published",
        f"run {' and '.join(f'`{m}`' for m in mends)}; `memory-assets doctor --drift` lists the "
        "rows.",
        passed=found.clean,
        metadata=counts,
    )


@dg.op(pool=PUBLISHER_POOL, description="Mends an index that differs from the registry.")
def mend_index(context: dg.OpExecutionContext, workspace: WorkspaceResource) -> None:
    """One publication if something had drifted; nothing otherwise."""
    from memory_assets.pipeline.upkeep.upkeep import repair_index as mend

    with as_failures():
        opened = workspace.open()
        found = mend(opened, now=now())
        context.add_output_metadata(found.to_metadata())
        if not found.after.clean:
            raise IndexMismatch(
                "The index still differs from the registry after it was mended.",
                where=str(opened.home.index),
                remedy="see what differs with `memory-assets doctor --drift`, look for another "
                "program that writes there, and run `memory-assets reindex`.",
            )


@dg.job(
    name="repair_index",
    description="Brings every index in line with the published registry: rows written by hand are "
    "taken back, and an index that cannot be read is built anew and swapped in.",
    executor_def=dg.in_process_executor,
)
def repair_index_job() -> None:
    """The job of one op."""
    mend_index()


class CleanupConfig(dg.Config):
    """Without ``apply`` the run only shows what it would remove."""

    apply: bool = Field(default=False, description="Remove them; otherwise only show the plan.")
    by: str = Field(default="the scheduler", description="Who asked for it, for the receipts.")


@dg.op(pool=PUBLISHER_POOL, description="Finds, and if told so removes, records of schema choices.")
def remove_legacy(
    context: dg.OpExecutionContext, config: CleanupConfig, workspace: WorkspaceResource
) -> None:
    """The plan as metadata; with ``apply`` also what was removed, and the receipts."""
    from memory_assets.pipeline.upkeep.legacy_cleanup import clean_up, plan_cleanup

    with as_failures():
        home = workspace.open()
        plan = plan_cleanup(home)
        metadata = {**plan.to_metadata(), "applied": config.apply and not plan.empty}
        if metadata["applied"]:
            done = clean_up(home, plan, now=now(), by=config.by)
            metadata |= {
                "generation": done.generation,
                "receipts": [str(p) for p in done.receipts],
            }
    context.add_output_metadata(metadata)


@dg.job(
    name="legacy_cleanup",
    description="Records of non-reusable types and bare schema names, in the registry, the index, "
    "old generations and index versions. Shows a plan; removes with `apply: true`.",
    executor_def=dg.in_process_executor,
)
def legacy_cleanup_job() -> None:
    """The job of one op."""
    remove_legacy()
