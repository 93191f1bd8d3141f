"""What a person asks for when a message says so: owed markers, and an index put right."""

from __future__ import annotations

import uuid
from datetime import datetime
from functools import partial

from memory_assets.errors import MarkersOwed
from memory_assets.pipeline.nightly.night import NightProgress
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.promotion.markers import MarkersResult
from memory_assets.steps.promotion.publish import PublishResult


def still_owed(result: MarkersResult) -> MarkersOwed | None:
    """The named error of markers that could not be written; None when all were."""
    try:
        result.raise_if_owed()
    except MarkersOwed as error:
        return error
    return None


def recover_markers(
    workspace: Workspace, *, now: datetime, progress: NightProgress | None = None
) -> MarkersResult:
    """The owed markers that were written, and the sessions that are still owed some.

    The ledgers are read first, so that a marker which somebody wrote meanwhile is not written
    twice.

    Raises:
        PublisherBusy: another process is publishing.
    """
    workspace.ingest(progress=partial(progress, "reading ledgers") if progress else None)
    workspace.decide()
    workspace.extract(now=now)
    return workspace.mark(
        now=now, progress=partial(progress, "writing markers") if progress else None
    )


def reindex(
    workspace: Workspace, *, now: datetime, progress: NightProgress | None = None
) -> PublishResult:
    """The published state with an index that holds every memory, vectors included where possible.

    It is a publication like any other: what differs is merged, checked and committed, and nothing
    to do makes no generation. Ledgers are not read.

    Raises:
        PublisherBusy, ChecksFailed, StoreError, EmbeddingError: see ``Publisher.publish``.
    """
    return workspace.publish(
        run_id=f"reindex-{uuid.uuid4()}",
        now=now,
        progress=partial(progress, "embedding memories") if progress else None,
    )
