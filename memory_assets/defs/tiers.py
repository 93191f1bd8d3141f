"""Tiers as an asset: what moved, which rule moved it, and the counts night by night."""

import dagster as dg

from memory_assets.defs.charts import night_by_night
from memory_assets.defs.describe import recorded, table_metadata
from memory_assets.defs.failures import as_failures
from memory_assets.defs.ledgers import OWNERS
from memory_assets.defs.logs import finished
from memory_assets.defs.registry import GROUP
from memory_assets.defs.resources import WorkspaceResource, now
from memory_assets.domain.schemas import TIER_ASSIGNMENTS

TIERS = ("core", "recall", "archival")


@dg.asset(
    deps=["published_generation"],
    group_name=GROUP,
    owners=OWNERS,
    kinds={"python", "polars"},
    metadata=table_metadata(TIER_ASSIGNMENTS),
)
def tier_assignments(
    context: dg.AssetExecutionContext, workspace: WorkspaceResource
) -> dg.MaterializeResult:
    """Which memories are core, recall or archival: the rules' changes of tonight, each on record.

    Five accesses in a week lift into core, a fortnight without one ends it, ninety days archive, an
    access revives. The changes take effect with the next publication; an administrator's override
    holds until it expires.
    """
    from memory_assets.pipeline.upkeep.retier import retier

    with as_failures(context):
        opened = workspace.open()
        result = retier(opened, now=now())
    finished(context, opened, "tiers", result)
    plots = {
        f"{tier}_by_night": night_by_night(
            context,
            "tier_assignments",
            f"tier_{tier}",
            result.by_tier.get(tier, 0),
            title=f"memories in {tier}",
        )
        for tier in TIERS
    }
    return dg.MaterializeResult(
        metadata=recorded(context, "tier_assignments", {**result.to_metadata(), **plots})
    )
