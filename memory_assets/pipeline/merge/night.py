"""The nightly step of the merge: new memories against existing ones, and what that proposes.

It runs after publication and may fail without harm: the registry is published by then, and the next
night makes up for it.
"""

from __future__ import annotations

import time
from typing import Any, Final

from memory_assets.domain.guards import RULE_VERSION
from memory_assets.pipeline.merge.semantic import SemanticMerge
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.merge.proposals import merge_tables
from memory_assets.steps.merge.types import MergeNight, Told
from memory_assets.storage.locks import exclusive
from memory_assets.storage.pair_log import pair_log_path

GROUP: Final = "merge_night"


def propose_new(workspace: Workspace, *, told: Told | None = None) -> MergeNight:
    """The pairs and proposals, brought up to date with the published generation.

    While neither the registry nor the reviewed pairs nor the guards have changed since the last
    time, one small file is read and nothing else. Merges nothing: that is the weekly job's.

    Raises:
        PublisherBusy: another merge is at work, which may take long; the next night tries again.
        EmbeddingError: the model failed; tables and proposals are as they were.
    """
    began = time.perf_counter()
    derived = merge_tables(workspace.home)
    stamp = _stamp(workspace)
    if stamp["generation"] == 0 or derived.info(GROUP) == stamp:
        return MergeNight(idle=True, seconds=time.perf_counter() - began)
    with exclusive(workspace.home.merge_lock, purpose="looking for new duplicates"):
        pass  # a search that takes hours must not hold up the night
    merge = SemanticMerge(workspace, told=told)
    plan = merge.plan(merge.tenants(), full=False)
    if not plan.pairs.pending:  # otherwise the next night compares them again
        derived.commit(GROUP, {}, stamp)
    counts = plan.to_metadata()
    return MergeNight(
        idle=False,
        compared=plan.pairs.compared,
        found=plan.pairs.found,
        groups=counts.get("groups_to_review", 0) + counts.get("automatic_groups", 0),
        containments=counts.get("containments", 0),
        conflicts=counts.get("conflicts", 0),
        seconds=time.perf_counter() - began,
    )


def _stamp(workspace: Workspace) -> dict[str, Any]:
    log = pair_log_path(workspace.home)
    current = workspace.generations.current()[0]
    return {
        "generation": current.number,
        # After a restore the same number may stand for another generation.
        "published": [current.run_id, current.published_at],
        "embedding": workspace.embedding_spec,
        "rule_version": RULE_VERSION,
        "reviewed_bytes": log.stat().st_size if log.exists() else 0,
    }
