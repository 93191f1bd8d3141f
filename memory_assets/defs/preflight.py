"""The pre-flight check as an asset: nine questions per tenant before anything is promoted."""

from collections.abc import Collection

import dagster as dg

from memory_assets.defs.checks import check_outcome
from memory_assets.defs.describe import some_of
from memory_assets.defs.failures import as_failures
from memory_assets.defs.ledgers import GROUP, OWNERS, session_ledgers
from memory_assets.defs.logs import finished
from memory_assets.defs.resources import WorkspaceResource, now


def registered_assets() -> Collection[str]:
    """Names of the assets that this code location registers."""
    from memory_assets.defs.assemble import defs

    graph = defs.get_repository_def().asset_graph
    return {key.to_user_string() for key in graph.get_all_asset_keys()}


@dg.asset(
    deps=[session_ledgers],
    group_name=GROUP,
    owners=OWNERS,
    kinds={"python", "file"},
    check_specs=[
        dg.AssetCheckSpec(
            "every_tenant_may_go_on",
            asset="tenant_preflight",
            description="Warns about tenants that a check stopped: nothing of them is promoted "
            "until it passes. `memory-assets doctor --preflight` names each with its remedy.",
        )
    ],
)
def tenant_preflight(
    context: dg.AssetExecutionContext, workspace: WorkspaceResource
) -> dg.MaterializeResult:
    """Nine questions per tenant before anything of it is promoted; the first no stops that tenant.

    Settings, libraries, provider, home, schema, tenant, persona, registration, and no records that
    are no memories. What failed is written down with its remedy; the other tenants go on.
    """
    from memory_assets.pipeline.health.preflight import preflight

    with as_failures(context):
        opened = workspace.open()
        result = preflight(opened, registered_assets, now=now())
    finished(context, opened, "preflight", result)
    for tenant, outcome in result.stopped.items():
        context.log.warning(
            "tenant %s is stopped by check %d (%s): %s. What to do: %s",
            *(tenant, outcome.number, outcome.name, outcome.message.rstrip("."), outcome.remedy),
        )
    stopped = [f"{tenant} (by {outcome.name})" for tenant, outcome in result.stopped.items()]
    return dg.MaterializeResult(
        metadata=result.to_metadata(),
        check_results=[
            check_outcome(
                "every_tenant_may_go_on",
                f"{len(stopped)} of {len(result.tenants)} tenants are stopped: {some_of(stopped)}."
                if stopped
                else f"{len(result.tenants)} tenants may go on",
                "`memory-assets doctor --preflight` says what to mend.",
                passed=result.ok,
                metadata=result.to_metadata(),
            )
        ],
    )
