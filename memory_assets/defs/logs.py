"""What a stage did, where people and programs look for it: Dagster's log, and the home's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dagster as dg

from memory_assets.defs.resources import now
from memory_assets.defs.stages import note

if TYPE_CHECKING:
    from memory_assets.pipeline.workspace import Workspace
    from memory_assets.steps.ledgers.ingest import IngestResult
    from memory_assets.steps.promotion.markers import MarkersResult


def finished(context: dg.AssetExecutionContext, opened: Workspace, stage: str, result: Any) -> None:
    """Notes a stage's result, and logs its counts and the sessions that somebody must look at."""
    from memory_assets.storage.run_log import RunLog

    run_id = context.run.run_id
    note(run_id, stage, result)
    log, moment = RunLog(opened.home.logs, run_id), now()
    log.write(f"{stage}-done", now=moment, fields=result.to_metadata())
    for session, event, why in _sessions_in_need(stage, result):
        context.log.warning("session %s/%s: %s: %s", *session, event, why)
        log.write(event, now=moment, level="warning", session=session, fields={"message": why})


def _sessions_in_need(stage: str, result: Any) -> list[tuple[tuple[str, str], str, str]]:
    if stage == "ingest":
        read: IngestResult = result
        return [((tenant, session), status, why) for tenant, session, status, why in read.problems]
    if stage == "markers":
        marked: MarkersResult = result
        return [((tenant, session), "markers-owed", why) for tenant, session, why in marked.failed]
    return []
