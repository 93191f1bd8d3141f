"""How well searches answer, as an asset: figures per leg, tenant and language, over generations."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import dagster as dg

from memory_assets.defs.charts import as_markdown, bar_chart
from memory_assets.defs.checks import check_outcome
from memory_assets.defs.conventions import WEEKLY
from memory_assets.defs.failures import as_failures
from memory_assets.defs.ledgers import OWNERS
from memory_assets.defs.registry import GROUP
from memory_assets.defs.resources import WorkspaceResource, now
from memory_assets.defs.schedules import schedule_of

if TYPE_CHECKING:
    from memory_assets.pipeline.upkeep.evaluation_run import Judged
    from memory_assets.settings import Settings
    from memory_assets.steps.search.evaluate import Evaluation

JOB_NAME: Final = "retrieval_quality"
CHECK: Final = "retrieval_quality_holds"
_GENERATIONS: Final = 30
_REMEDY: Final = (
    "`memory-assets evaluate --all-tenants` shows the figures per tenant, language and leg. Where "
    "the vector and text legs fell too, new memories stand close to old ones: see what to merge "
    "with `memory-assets review list --tenant TENANT`. Where only the hybrid did, look at the "
    "weights: `memory-assets doctor` shows them with their origin."
)
_COLUMNS: Final = ("recall_at_1", "recall_at_5", "recall_at_10", "mrr", "ndcg")


@dg.asset(
    deps=["published_generation"],
    group_name=GROUP,
    owners=OWNERS,
    kinds={"python", "lancedb"},
    freshness_policy=WEEKLY,
    check_specs=[
        dg.AssetCheckSpec(
            CHECK,
            asset="retrieval_evaluation",
            description="Recall and gain of the hybrid are no worse than in the generation before.",
        )
    ],
)
def retrieval_evaluation(
    context: dg.AssetExecutionContext, workspace: WorkspaceResource
) -> dg.MaterializeResult:
    """Recall@1/5/10, MRR and nDCG of the vector leg, the text leg and the hybrid.

    The questions are those of sessions whose clarifications were already memories of other
    sessions; a session's own memories are left out. Evaluation never counts as an access.
    """
    from memory_assets.pipeline.upkeep.evaluation_run import evaluate_registry

    with as_failures(context):
        judged = evaluate_registry(workspace.open(), now=now())
    return dg.MaterializeResult(
        metadata={**judged.evaluation.to_metadata(), **_plots(judged)},
        check_results=[_check(judged)],
    )


retrieval_quality = dg.define_asset_job(
    JOB_NAME,
    selection=dg.AssetSelection.assets(retrieval_evaluation),
    description="Asks the questions whose answers the ledgers hold, and keeps how well the newest "
    "generation answered. Changes no memory and counts no use.",
    executor_def=dg.in_process_executor,
)


def evaluation_schedule(settings: "Settings") -> dg.ScheduleDefinition:
    """The weekly schedule; off until somebody turns it on."""
    return schedule_of(
        settings,
        "evaluation_schedule",
        name="evaluation_schedule",
        job=retrieval_quality,
        description="Measures retrieval, by default on Sundays at 06:00, after the merge.",
    )


def _check(judged: "Judged") -> dg.AssetCheckResult:
    cases = judged.evaluation.cases
    return check_outcome(
        CHECK,
        f"{'; '.join(judged.fallen)} since the generation before, over {cases} questions."
        if judged.fallen
        else "no figure fell",
        _REMEDY,
        passed=not judged.fallen,
        metadata={"questions": cases},
    )


def _plots(judged: "Judged") -> dict[str, Any]:
    """The table of figures, and a chart per leg of recall@10 over generations."""
    latest = judged.history[-_GENERATIONS:]
    charts = {
        f"{leg}_recall_at_10_by_generation": as_markdown(
            bar_chart(_series(latest, leg), title=f"recall@10, {leg}"), alt=f"recall@10, {leg}"
        )
        for leg in ("hybrid", "vector", "text")
        if latest
    }
    return {"figures": dg.MetadataValue.md(_table(judged.evaluation)), **charts}


def _series(history: Sequence[Mapping[str, Any]], leg: str) -> list[tuple[str, float]]:
    return [
        (f"generation {entry['generation']}", entry["legs"][leg]["recall_at_10"])
        for entry in history
        if leg in entry["legs"]
    ]


def _table(evaluation: "Evaluation") -> str:
    """The figures as Markdown. Tenants stay unnamed: the event log keeps all it is told."""
    lines = [
        "| language | leg | questions | R@1 | R@5 | R@10 | MRR | nDCG |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for row in evaluation.rows:
        if row["tenant_id"] == "all":
            figures = " | ".join(f"{row[name]:.3f}" for name in _COLUMNS)
            lines.append(f"| {row['language']} | {row['leg']} | {row['questions']} | {figures} |")
    return "\n".join(lines)
