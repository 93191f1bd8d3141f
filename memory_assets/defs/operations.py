"""What operators read: the figures of the night for their monitoring."""

import dagster as dg

from memory_assets.defs.failures import as_failures
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
