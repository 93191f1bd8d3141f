"""Keeping a home in order: drift mended, an index built anew, old generations collected."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memory_assets.errors import UsageError
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.index.drift import DriftReport, find_drift
from memory_assets.steps.promotion.publish import PublishResult
from memory_assets.storage.locks import exclusive
from memory_assets.storage.recovery import recover
from memory_assets.storage.retention import GcPlan, apply_gc, plan_gc

UpkeepProgress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class RepairResult:
    """The drift that was found, and what is left of it."""

    before: DriftReport
    after: DriftReport
    rebuilt: bool
    """Whether the index was built anew because it could not be read."""

    def to_dict(self) -> dict[str, Any]:
        """The result as ``--json`` prints it."""
        return {
            "clean": self.after.clean,
            "rebuilt": self.rebuilt,
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
        }

    def to_metadata(self) -> dict[str, Any]:
        """Counts for the run's metadata."""
        return {
            **{f"{k}_before": v for k, v in self.before.to_metadata().items()},
            "rebuilt": self.rebuilt,
            "clean": self.after.clean,
        }


def drift_of(workspace: Workspace) -> DriftReport:
    """The published registry compared with its indexes, row by row; nothing is changed."""
    current, _ = workspace.generations.current()
    languages = {t: workspace.settings.tenant(t).language for t in current.counters}
    return find_drift(workspace.generations, languages)


def repair_index(
    workspace: Workspace, *, now: datetime, progress: UpkeepProgress | None = None
) -> RepairResult:
    """The drift mended: rows written by hand are taken back, what differs is written again.

    It is a publication: an index that cannot be read is built anew beside the old one and swapped
    in, so searches go on all the while.

    Raises:
        PublisherBusy, ChecksFailed, StoreError, EmbeddingError: see ``Publisher.publish``.
    """
    before = drift_of(workspace)
    rebuild = any(s.damage and s.served for s in before.spaces)
    if not before.clean:
        workspace.publish(
            run_id=f"repair-index-{uuid.uuid4()}",
            now=now,
            progress=progress,
            rebuild_index=rebuild,
        )
    return RepairResult(before, drift_of(workspace), rebuild)


def rebuild_index(
    workspace: Workspace,
    space_id: str | None,
    *,
    now: datetime,
    progress: UpkeepProgress | None = None,
) -> PublishResult:
    """One space's index built whole from the registry and swapped in with one generation.

    Raises:
        UsageError: the published generation has no such space, or another model is configured.
        PublisherBusy, ChecksFailed, StoreError, EmbeddingError: see ``Publisher.publish``.
    """
    current, _ = workspace.generations.current()
    known = [s.space.space_id for s in current.spaces]
    if space_id is not None and space_id not in known:
        raise UsageError(
            f"The published generation has no embedding space {space_id!r}.",
            remedy=f"it has {', '.join(known) or 'none'}.",
        )
    return workspace.publish(
        run_id=f"reindex-{uuid.uuid4()}", now=now, progress=progress, rebuild_index=True
    )


def collect_garbage(workspace: Workspace, *, now: datetime, dry_run: bool) -> GcPlan:
    """What is (or, in a dry run, would be) removed by the configured retention.

    Raises:
        PublisherBusy: another process is publishing.
    """
    store, rule = workspace.generations, workspace.publish_settings.retention
    if dry_run:
        return plan_gc(store, store.current()[0], rule, now=now)
    with exclusive(workspace.home.publisher_lock, purpose="collecting garbage"):
        current, _ = store.current(verify=True)
        recover(store, current)
        plan = plan_gc(store, current, rule, now=now)
        apply_gc(store, current, plan)
    return plan


def kept_generations(workspace: Workspace) -> list[dict[str, Any]]:
    """Every generation that can still be read, oldest first, with its time, run and counts."""
    store = workspace.generations
    current, _ = store.current()
    rows = []
    for number in store.kept(current):
        generation = store.find(number)
        if generation is not None:
            rows.append(
                {
                    "generation": number,
                    "published_at": generation.published_at,
                    "run_id": generation.run_id,
                    **dict(generation.counts),
                    "current": number == current.number,
                }
            )
    return rows
