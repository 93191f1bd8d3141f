"""The nightly job, and when it runs."""

import hashlib
import json
from typing import TYPE_CHECKING

import dagster as dg

from memory_assets.defs.resources import WorkspaceResource, now
from memory_assets.defs.schedules import schedule_of

if TYPE_CHECKING:
    from memory_assets.settings import Settings

JOB_NAME = "nightly_consolidation"
_ASK_AGAIN_AFTER_SECONDS = 3600
_ACTIVE = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
]

nightly_consolidation = dg.define_asset_job(
    JOB_NAME,
    selection=dg.AssetSelection.assets(
        "tenant_preflight",
        "ledger_events",
        "effective_decisions",
        "extracted_facts",
        "candidate_memories",
        "memory_registry",
        "memory_embeddings",
        "memory_index",
        "published_generation",
        "session_markers",
        "new_duplicates",
        "review_queue",
        "registry_views",
        "tier_assignments",
        "night_metrics",
    ),
    description="Ledgers → effective decisions → candidates → the next generation of registry and "
    "index → markers. Can be repeated at any time; a night without changes publishes nothing.",
    executor_def=dg.in_process_executor,
)


def runs_under_way(instance: dg.DagsterInstance) -> bool:
    """Whether a run of the nightly job is at work, or waits for its turn."""
    wanted = dg.RunsFilter(job_name=JOB_NAME, statuses=_ACTIVE)
    return bool(instance.get_run_records(wanted, limit=1))


def nightly_schedule(settings: "Settings") -> dg.ScheduleDefinition:
    """The schedule that the settings ask for; off until somebody turns it on."""
    return schedule_of(
        settings,
        "schedule",
        name="nightly_schedule",
        job=nightly_consolidation,
        description="Runs the nightly consolidation, by default at 03:30: late enough that the "
        "hour that daylight saving skips or repeats is over.",
    )


def session_sensor(settings: "Settings") -> dg.SensorDefinition:
    """The sensor for new or grown finished sessions."""

    @dg.sensor(
        name="finished_sessions",
        job=nightly_consolidation,
        minimum_interval_seconds=int(settings.number("sensor_seconds")),
        description="Starts the nightly job when finished sessions are new or have grown. The "
        "watermark in the data decides; the cursor only says which set was asked for last.",
    )
    def finished_sessions(
        context: dg.SensorEvaluationContext, workspace: WorkspaceResource
    ) -> dg.SensorResult | dg.SkipReason:
        if runs_under_way(context.instance):
            return dg.SkipReason("a nightly run is under way or waiting")
        waiting = workspace.open().waiting_sessions()
        if not waiting.sessions:
            return dg.SkipReason("no finished session is new or has grown")
        seen = hashlib.sha256("\n".join(waiting.signatures).encode()).hexdigest()[:16]
        last = json.loads(context.cursor) if context.cursor else {}
        asked = now().timestamp()
        if last.get("set") == seen and asked - last["at"] < _ASK_AGAIN_AFTER_SECONDS:
            return dg.SkipReason(
                f"{len(waiting.sessions)} sessions still wait: the run that was started for them "
                "did not take them in; it is tried again an hour after it was started"
            )
        return dg.SensorResult(
            run_requests=[
                dg.RunRequest(tags={"memory_assets/sessions": str(len(waiting.sessions))})
            ],
            cursor=json.dumps({"set": seen, "at": asked}),
        )

    return finished_sessions
