"""Facts of free-text events as an asset, and the check that counts personal data."""

import dagster as dg

from memory_assets.defs.checks import check_outcome
from memory_assets.defs.describe import recorded, table_metadata
from memory_assets.defs.failures import as_failures
from memory_assets.defs.ledgers import GROUP, OWNERS, effective_decisions
from memory_assets.defs.logs import finished
from memory_assets.defs.resources import WorkspaceResource, now
from memory_assets.domain.schemas import DECISIONS, FACTS

FROM_DECISIONS = {
    "fact_no": ("detail",),
    "subject": ("subject", "detail", "concepts"),
    "span_start": ("detail",),
    "span_end": ("detail",),
    "extractor": ("tenant_id",),
}


@dg.asset(
    deps=[effective_decisions],
    group_name=GROUP,
    owners=OWNERS,
    kinds={"python", "polars", "parquet"},
    metadata=table_metadata(FACTS, {"effective_decisions": DECISIONS}, FROM_DECISIONS),
    check_specs=[
        dg.AssetCheckSpec(
            "answers_are_sound",
            asset="extracted_facts",
            description="Warns about models' answers in quarantine and events without an answer: "
            "`memory-assets facts refused --tenant TENANT` shows each with its reason.",
        )
    ],
)
def extracted_facts(
    context: dg.AssetExecutionContext, workspace: WorkspaceResource
) -> dg.MaterializeResult:
    """Facts made of free-text events, in one pass, each with its source row, span and extractor.

    They become candidates like any clarification. Answers of models are kept, so a rebuild asks
    nothing; one that is not what was asked for goes to quarantine whole.
    """
    with as_failures(context):
        opened = workspace.open()
        result = opened.extract(now=now())
    finished(context, opened, "extract", result)
    for problem in result.problems:
        context.log.warning("extraction: %s", problem)
    counts = {**result.to_metadata(), "dagster/row_count": result.facts}
    return dg.MaterializeResult(
        metadata=recorded(context, "extracted_facts", counts),
        check_results=[
            check_outcome(
                "answers_are_sound",
                f"{result.refused_answers} answers refused, {result.pending} events without one."
                if result.refused_answers or result.pending
                else "every answer counts",
                "`memory-assets facts refused --tenant TENANT` shows each refused one with its "
                "reason; the next night asks again for what is missing.",
                passed=not (result.refused_answers or result.pending),
                metadata={"refused": result.refused_answers, "pending": result.pending},
            )
        ],
    )


@dg.asset_check(
    asset="memory_registry",
    name="personal_data",
    description="Counts memories that hold personal data: identifiers with a sound checksum, "
    "e-mail addresses, phone numbers, clients' names. Only a reviewer can have let them in.",
)
def personal_data(workspace: WorkspaceResource) -> dg.AssetCheckResult:
    """Warns with counts and ids; nothing of what was found is quoted."""
    from memory_assets.steps.promotion.personal import personal_report

    with as_failures():
        opened = workspace.open()
        memories = opened.registry().active()
        found = personal_report(memories, opened.client_names)
    return check_outcome(
        "personal_data",
        f"{found.memories} of {found.checked} memories hold personal data.",
        "look at the ids in `examples` with `memory-assets registry show`, and remove what may not "
        "stay with `memory-assets erase`.",
        passed=found.memories == 0,
        metadata=found.to_dict(),
    )
