"""Moving to another embedding model, as an asset that runs only when somebody materializes it."""

from datetime import timedelta

import dagster as dg
from pydantic import Field

from memory_assets.defs.failures import as_failures
from memory_assets.defs.ledgers import OWNERS
from memory_assets.defs.registry import GROUP, PUBLISHER_POOL
from memory_assets.defs.resources import WorkspaceResource, now

NEVER_LATE = timedelta(days=20_000)
"""Half a century: the UI cannot show a window of more than 2,147,483,647 seconds."""


class MigrationConfig(dg.Config):
    """Without ``apply`` the run only estimates what the migration would take."""

    to: str = Field(default="", description="PROVIDER:MODEL that shall serve; empty: do nothing.")
    apply: bool = Field(default=False, description="Do it; otherwise only estimate it.")


@dg.asset(
    deps=["published_generation"],
    group_name=GROUP,
    owners=OWNERS,
    kinds={"python", "lancedb"},
    pool=PUBLISHER_POOL,
    freshness_policy=dg.FreshnessPolicy.time_window(fail_window=NEVER_LATE),
)
def embedding_migration(
    context: dg.AssetExecutionContext, config: MigrationConfig, workspace: WorkspaceResource
) -> dg.MaterializeResult:
    """The registry served by another embedding model: built beside, compared, swapped in once.

    Materialize it with ``to: PROVIDER:MODEL``; with ``apply: true`` it is done, and done again it
    goes on where a budget or a provider stopped it. ``embedding rollback`` takes it back.
    """
    from memory_assets.pipeline.upkeep.migrate import estimate, migrate

    if not config.to:
        context.log.info("nothing to do: name the model as to: PROVIDER:MODEL in the run config")
        return dg.MaterializeResult(metadata={"applied": False})
    with as_failures(context):
        opened = workspace.open()
        metadata = estimate(opened, config.to).to_dict()
        if config.apply:
            metadata |= migrate(opened, config.to, now=now()).to_metadata()
    return dg.MaterializeResult(metadata={**metadata, "applied": config.apply})
