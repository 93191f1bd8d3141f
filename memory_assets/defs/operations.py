"""For operators: the figures of the night for their monitoring, and runs that were killed."""

import dagster as dg

from memory_assets.defs.failures import as_failures
from memory_assets.defs.killed_runs import end_killed_runs
from memory_assets.defs.ledgers import OWNERS
from memory_assets.defs.registry import GROUP
from memory_assets.defs.resources import WorkspaceResource, now


@dg.asset(
    deps=["published_generation", "session_markers"],
    group_name=GROUP,
    owners=OWNERS,
    kinds={"prometheus", "file"},
)
def night_metrics(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """The figures of the night as a Prometheus text file: sessions, backlog, quarantine, memories.

    Worked out from the tables, so it can be written again at any time. An alert on the age of
    ``memory_assets_night_timestamp_seconds`` notices nights that did not run at all.
    """
    from memory_assets.pipeline.nightly.metrics import write_metrics

    with as_failures():
        result = write_metrics(workspace.open(), now=now())
    return dg.MaterializeResult(
        metadata={**result.to_metadata(), "file": dg.MetadataValue.path(str(result.path))}
    )


@dg.sensor(
    name="killed_runs",
    minimum_interval_seconds=60,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Ends runs whose process is gone without a word, as after a restart of the "
    "machine, and frees their pool slots: the nights behind them go on.",
)
def killed_runs(context: dg.SensorEvaluationContext, workspace: WorkspaceResource) -> dg.SkipReason:
    """Each look ends what it finds: no process is left that could object."""
    ended = end_killed_runs(workspace.open().home, context.instance)
    return dg.SkipReason(f"ended {', '.join(ended)}" if ended else "no run was killed")
