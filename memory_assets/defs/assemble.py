"""Everything that Dagster loads: assets, checks, jobs, schedules, sensors, resources."""

from __future__ import annotations

import dagster as dg

from memory_assets.defs import ledgers, nightly, registry
from memory_assets.defs.resources import WorkspaceResource
from memory_assets.settings import load_settings

_settings = load_settings()

defs = dg.Definitions(
    assets=[
        ledgers.session_ledgers,
        ledgers.ledger_events,
        ledgers.effective_decisions,
        registry.candidate_memories,
        registry.publication,
        registry.session_markers,
        registry.registry_views,
    ],
    jobs=[nightly.nightly_consolidation],
    schedules=[nightly.nightly_schedule(_settings)],
    sensors=[nightly.session_sensor(_settings), nightly.nightly_failed],
    resources={"workspace": WorkspaceResource()},
    # One process per run: with the default executor each step would import everything anew.
    executor=dg.in_process_executor,
)
