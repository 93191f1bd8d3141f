"""The semantic merge as assets: pairs, calibration, proposals, and merges that are earned."""

from typing import TYPE_CHECKING, Final

import dagster as dg
from pydantic import Field

from memory_assets.defs.charts import as_markdown
from memory_assets.defs.checks import check_outcome
from memory_assets.defs.conventions import WEEKLY
from memory_assets.defs.describe import recorded, table_metadata
from memory_assets.defs.failures import as_failures
from memory_assets.defs.ledgers import OWNERS
from memory_assets.defs.logs import finished
from memory_assets.defs.registry import GROUP
from memory_assets.defs.resources import WorkspaceResource, now
from memory_assets.defs.schedules import schedule_of
from memory_assets.domain.merge_tables import (
    DUPLICATE_PAIRS,
    MERGE_CALIBRATION,
    MERGE_PROPOSALS,
)
from memory_assets.domain.schemas import MEMORIES, SUPERSESSIONS
from memory_assets.errors import MemoryAssetsError

if TYPE_CHECKING:
    from memory_assets.settings import Settings

JOB_NAME: Final = "global_semantic_merge"
_NEXT_NIGHT: Final = "nothing: the next night compares what is missing."


class DuplicateSearch(dg.Config):
    """How much is compared: only what is new since the last time, or everything anew."""

    full: bool = Field(
        default=False, description="Compare everything with everything, not only what is new."
    )


@dg.asset(
    deps=["published_generation"],
    group_name=GROUP,
    owners=OWNERS,
    kinds={"python", "polars", "parquet"},
    freshness_policy=WEEKLY,
    metadata=table_metadata(
        DUPLICATE_PAIRS,
        {"memory_registry": MEMORIES},
        {"memory_a": ("memory_id",), "memory_b": ("memory_id",), "cosine": ("subject", "detail")},
    ),
)
def duplicate_pairs(
    context: dg.AssetExecutionContext, config: DuplicateSearch, workspace: WorkspaceResource
) -> dg.MaterializeResult:
    """Pairs of memories of one tenant and privacy scope whose definitions stand close together.

    New memories are compared with all others, exactly; the weekly job compares everything with
    everything and measures its own recall. A shared subject makes a pair whatever the vectors say.
    """
    from memory_assets.pipeline.merge.semantic import SemanticMerge

    with as_failures(context):
        merge = SemanticMerge(workspace.open())
        result = merge.search(merge.tenants(), full=config.full)
    counts = {**result.to_metadata(), "dagster/row_count": result.pairs}
    return dg.MaterializeResult(metadata=recorded(context, "duplicate_pairs", counts))


@dg.asset(
    deps=["published_generation"],
    group_name=GROUP,
    owners=OWNERS,
    kinds={"python", "polars"},
    freshness_policy=WEEKLY,
    metadata=table_metadata(MERGE_CALIBRATION),
)
def merge_calibration(
    context: dg.AssetExecutionContext, workspace: WorkspaceResource
) -> dg.MaterializeResult:
    """What reviewed pairs prove: per tenant the cosine from which merging needs no person.

    The lower confidence bound of precision must reach its target; until then nothing merges by
    itself but equal texts. Precision and recall over the threshold are shown as a curve.
    """
    from memory_assets.pipeline.merge.report import curve_svg
    from memory_assets.pipeline.merge.semantic import SemanticMerge

    with as_failures(context):
        merge = SemanticMerge(workspace.open())
        found = merge.calibrate(merge.tenants())
    earned = [c for c in found if c.point.threshold is not None]
    curves = {
        f"curve_{number}": as_markdown(curve_svg(c), alt="precision and recall")
        for number, c in enumerate((c for c in found if c.labels), 1)
    }
    counts = {
        "dagster/row_count": len(found),
        "reviewed_pairs": sum(c.labels for c in found),
        "tenants_with_automatic_merge": len(earned),
        "lowest_threshold": min((c.point.threshold or 1.0 for c in earned), default=1.0),
    }
    return dg.MaterializeResult(metadata=recorded(context, "merge_calibration", counts | curves))


@dg.asset(
    deps=["duplicate_pairs", "merge_calibration"],
    group_name=GROUP,
    owners=OWNERS,
    kinds={"python", "polars"},
    freshness_policy=WEEKLY,
    metadata=table_metadata(
        MERGE_PROPOSALS,
        {"duplicate_pairs": DUPLICATE_PAIRS, "merge_calibration": MERGE_CALIBRATION},
        {
            "members": ("memory_a", "memory_b"),
            "lowest_cosine": ("cosine",),
            "highest_cosine": ("cosine",),
            "pairs": ("memory_a", "memory_b", "cosine"),
            "route": ("threshold", "review_floor"),
        },
    ),
)
def merge_proposals(
    context: dg.AssetExecutionContext, workspace: WorkspaceResource
) -> dg.MaterializeResult:
    """Groups that say the same, definitions that contain others, and conflicts of one subject.

    A group holds only pairs that all passed, never a chain. Guards on numbers, negation, names,
    units and the like set pairs apart whatever their cosine; most of the rest waits for a person.
    """
    from memory_assets.pipeline.merge.semantic import SemanticMerge

    with as_failures(context):
        merge = SemanticMerge(workspace.open())
        results = merge.propose(merge.tenants())
    counts: dict[str, object] = {}
    for result in results:
        for name, n in result.to_metadata().items():
            counts[name] = int(str(counts.get(name, 0))) + n
    counts["dagster/row_count"] = sum(len(r.proposals) for r in results)
    return dg.MaterializeResult(metadata=recorded(context, "merge_proposals", counts))


@dg.asset(
    deps=["merge_proposals"],
    group_name=GROUP,
    owners=OWNERS,
    kinds={"python"},
    freshness_policy=WEEKLY,
    metadata=table_metadata(SUPERSESSIONS),
)
def supersessions(
    context: dg.AssetExecutionContext, workspace: WorkspaceResource
) -> dg.MaterializeResult:
    """Merges that reviewed pairs have earned, handed to the next publication as intents.

    The survivor's content never changes and the replaced memory stays on record; `memory-assets
    merge undo` takes any merge back. Asking twice changes nothing.
    """
    from memory_assets.pipeline.merge.semantic import SemanticMerge

    with as_failures(context):
        merge = SemanticMerge(workspace.open())
        changes = merge.apply(merge.tenants(), now=now())
    counts = {
        "asked_for": sum(len(c.supersessions) for c in changes),
        "tenants": sum(bool(c.supersessions) for c in changes),
        "near_relatives_still_active": sum(len(c.siblings) for c in changes),
    }
    return dg.MaterializeResult(metadata=recorded(context, "supersessions", counts))


@dg.asset(
    deps=["published_generation"],
    group_name=GROUP,
    owners=OWNERS,
    kinds={"python", "polars"},
    check_specs=[
        dg.AssetCheckSpec(
            "new_memories_were_compared",
            asset="new_duplicates",
            description="Warns when the nightly search for duplicates could not end. The night is "
            "published all the same, and the next one compares what is missing.",
        )
    ],
)
def new_duplicates(
    context: dg.AssetExecutionContext, workspace: WorkspaceResource
) -> dg.MaterializeResult:
    """Tonight's new memories against all others: their pairs and proposals, for the review queue.

    Writes the tables of `duplicate_pairs`, `merge_calibration` and `merge_proposals`, and merges
    nothing. Reads one small file while nothing has changed; its failure never spoils a night.
    """
    from memory_assets.pipeline.merge.night import propose_new
    from memory_assets.steps.merge.types import MergeNight

    opened = workspace.open()
    said, remedy = "", ""
    try:
        result = propose_new(opened)
    except MemoryAssetsError as error:
        context.log.warning(f"no search for new duplicates tonight: {error}")
        result = MergeNight(idle=False, problem=str(error))
        place = f" Where: {error.where}." if error.where else ""
        said, remedy = error.what + place, error.remedy
    finished(context, opened, "merge", result)
    return dg.MaterializeResult(
        metadata=result.to_metadata(),
        check_results=[
            check_outcome(
                "new_memories_were_compared",
                said or f"{result.compared} new memories compared",
                remedy or _NEXT_NIGHT,
                passed=not result.problem,
            )
        ],
    )


ASSETS: Final = (duplicate_pairs, merge_calibration, merge_proposals, supersessions)

global_semantic_merge = dg.define_asset_job(
    JOB_NAME,
    selection=dg.AssetSelection.assets(*ASSETS),
    description="All memories with all, per tenant and privacy scope → calibration → proposals → "
    "merges that are earned. Changes nothing by itself: the next publication does.",
    config={"ops": {"duplicate_pairs": {"config": {"full": True}}}},
    executor_def=dg.in_process_executor,
)


def merge_schedule(settings: "Settings") -> dg.ScheduleDefinition:
    """The weekly schedule; off until somebody turns it on."""
    return schedule_of(
        settings,
        "merge_schedule",
        name="merge_schedule",
        job=global_semantic_merge,
        description="Runs the global semantic merge, by default on Sundays at 05:00, after the "
        "nightly consolidation.",
    )
