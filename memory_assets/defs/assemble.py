"""Everything that Dagster loads: assets, checks, jobs, schedules, sensors, resources."""

from __future__ import annotations

import dagster as dg

from memory_assets.defs import (
    alerts,
    facts,
    ledgers,
    merge,
    migration,
    nightly,
    operations,
    preflight,
    registry,
    review,
    search,
    tiers,
    upkeep,
)
from memory_assets.defs.conventions import with_conventions
from memory_assets.defs.resources import WorkspaceResource
from memory_assets.settings import load_settings

_settings = load_settings()

defs = dg.Definitions(
    assets=with_conventions(
        [
            ledgers.session_ledgers,
            preflight.tenant_preflight,
            ledgers.ledger_events,
            ledgers.effective_decisions,
            facts.extracted_facts,
            registry.candidate_memories,
            registry.publication,
            registry.session_markers,
            review.review_queue,
            registry.registry_views,
            migration.embedding_migration,
            tiers.tier_assignments,
            operations.night_metrics,
            merge.new_duplicates,
            *merge.ASSETS,
            search.retrieval_evaluation,
        ]
    ),
    asset_checks=[facts.personal_data, upkeep.index_has_not_drifted],
    jobs=[
        nightly.nightly_consolidation,
        merge.global_semantic_merge,
        search.retrieval_quality,
        upkeep.repair_index_job,
        upkeep.legacy_cleanup_job,
    ],
    schedules=[
        nightly.nightly_schedule(_settings),
        merge.merge_schedule(_settings),
        search.evaluation_schedule(_settings),
    ],
    sensors=[
        nightly.session_sensor(_settings),
        review.review_sensor(_settings),
        operations.killed_runs,
        alerts.failed_runs,
        alerts.failed_checks,
        alerts.undelivered_alerts,
    ],
    resources={"workspace": WorkspaceResource()},
    # One process per run: with the default executor each step would import everything anew.
    executor=dg.in_process_executor,
)
