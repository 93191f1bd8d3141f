"""The review queue as an asset, its freshness check, and the sensor for decisions that arrive."""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import dagster as dg

from memory_assets.defs.charts import night_by_night
from memory_assets.defs.checks import check_outcome
from memory_assets.defs.columns import DECISIONS_TO_CANDIDATES
from memory_assets.defs.describe import some_of, table_metadata
from memory_assets.defs.failures import as_failures
from memory_assets.defs.ledgers import OWNERS, effective_decisions
from memory_assets.defs.nightly import JOB_NAME, nightly_consolidation, runs_under_way
from memory_assets.defs.registry import GROUP
from memory_assets.defs.resources import WorkspaceResource, now
from memory_assets.domain.schemas import CANDIDATES, DECISIONS, REVIEW_QUEUE

if TYPE_CHECKING:
    from memory_assets.settings import Settings

_QUIET = timedelta(seconds=30)
_ASK_AGAIN = timedelta(hours=1)


@dg.asset(
    deps=[effective_decisions, "candidate_memories", "published_generation", "new_duplicates"],
    group_name=GROUP,
    owners=OWNERS,
    kinds={"python", "polars", "parquet"},
    metadata=table_metadata(
        REVIEW_QUEUE,
        {"candidate_memories": CANDIDATES, "effective_decisions": DECISIONS},
        {**DECISIONS_TO_CANDIDATES, "waits_since": ("decided_at",), "state": ("route",)},
    ),
    check_specs=[
        dg.AssetCheckSpec(
            "backlog_is_looked_at",
            asset="review_queue",
            description="Warns when the oldest item has waited longer than `review_warn_days`. "
            "Nothing is ever dropped for waiting; but somebody should look.",
        ),
        dg.AssetCheckSpec(
            "review_lines_count",
            asset="review_queue",
            description="Warns about lines of the review file that are not applied: "
            "`memory-assets review refused` names each with its reason.",
        ),
    ],
)
def review_queue(
    context: dg.AssetExecutionContext, workspace: WorkspaceResource
) -> dg.MaterializeResult:
    """Everything that waits for a reviewer, each item with its nearest memories and what differs.

    Candidates and proposals about published memories, without a cap. Labels say how an item stands
    to the registry: new, duplicate of, refines, conflicts with, contained in.
    """
    with as_failures():
        opened = workspace.open()
        result = opened.derive_queue(now=now())
    limit = opened.settings.number("review_warn_days")
    backlog = result.backlog
    waits = backlog.waiting + backlog.deferred
    age = backlog.oldest_days(result.now)
    return dg.MaterializeResult(
        metadata={
            **result.to_metadata(),
            "dagster/row_count": waits,
            "backlog_by_night": night_by_night(
                context, "review_queue", "items", waits, title="items that wait for a reviewer"
            ),
        },
        check_results=[
            check_outcome(
                "backlog_is_looked_at",
                _backlog_words(waits, age, backlog.by_tenant, late=age > limit),
                "accept or decline them: `memory-assets review list --tenant TENANT` shows them.",
                passed=age <= limit,
                metadata={"oldest_days": age, "waiting": waits, **backlog.by_tenant},
            ),
            check_outcome(
                "review_lines_count",
                f"{result.refused} line(s) of the review file are not applied."
                if result.refused
                else "every line of the review file counts",
                "`memory-assets review refused` names each with its reason.",
                passed=result.refused == 0,
                metadata={"refused_lines": result.refused},
            ),
        ],
    )


def _backlog_words(waits: int, age: float, by_tenant: Mapping[str, int], *, late: bool) -> str:
    if not waits:
        return "nothing waits"
    said = f"the oldest of {waits} items has waited {age:.0f} days"
    if not late:
        return said
    tenants = [f"{tenant} {n}" for tenant, n in sorted(by_tenant.items()) if n]
    return f"{said} ({some_of(tenants)})."


def review_sensor(settings: "Settings") -> dg.SensorDefinition:
    """The sensor for review decisions that no publication has taken in yet."""

    @dg.sensor(
        name="review_decisions",
        job=nightly_consolidation,
        minimum_interval_seconds=int(settings.number("sensor_seconds")),
        description="Starts the nightly job when reviewers' decisions wait to be published, once "
        "nobody has written one for half a minute. Tables say what waits; the cursor only "
        "remembers what was asked for last.",
    )
    def review_decisions(
        context: dg.SensorEvaluationContext, workspace: WorkspaceResource
    ) -> dg.SensorResult | dg.SkipReason:
        from memory_assets.pipeline.nightly.unpublished import unpublished_verdicts

        opened = workspace.open()
        path = opened.home.review_decisions
        moment = now()
        if not path.exists():
            return dg.SkipReason("nobody has reviewed anything yet")
        written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        if timedelta(0) <= moment - written < _QUIET:
            return dg.SkipReason("a reviewer is at work")
        if runs_under_way(context.instance):
            return dg.SkipReason(f"a run of {JOB_NAME} is under way or waiting")
        owed = unpublished_verdicts(opened, now=moment)
        if not owed:
            return dg.SkipReason("every decision that can be applied is published")
        seen = hashlib.sha256("\n".join(owed).encode()).hexdigest()[:16]
        last = json.loads(context.cursor) if context.cursor else {}
        asked = moment.timestamp()
        if last.get("set") == seen and asked - last["at"] < _ASK_AGAIN.total_seconds():
            return dg.SkipReason(
                f"{len(owed)} decisions still wait: the run that was started for them did not "
                "publish them; it is tried again an hour after it was started"
            )
        return dg.SensorResult(
            run_requests=[dg.RunRequest(tags={"memory_assets/review_decisions": str(len(owed))})],
            cursor=json.dumps({"set": seen, "at": asked}),
        )

    return review_decisions
