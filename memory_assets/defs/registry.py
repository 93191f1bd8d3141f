"""Assets of the second group: candidates, and the registry, published whole or not at all."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import dagster as dg

from memory_assets.defs.charts import night_by_night
from memory_assets.defs.checks import check_outcome
from memory_assets.defs.columns import (
    DECISIONS_TO_CANDIDATES,
    DECISIONS_TO_MEMORIES,
    MEMORIES_TO_VECTORS,
    TO_INDEX,
)
from memory_assets.defs.describe import recorded, table_metadata
from memory_assets.defs.embedding import embedding_metadata
from memory_assets.defs.facts import extracted_facts
from memory_assets.defs.failures import as_failures
from memory_assets.defs.ledgers import OWNERS, effective_decisions
from memory_assets.defs.logs import finished
from memory_assets.defs.resources import WorkspaceResource, now
from memory_assets.domain.checks import BLOCKING_CHECKS, CheckResult, vectors_complete
from memory_assets.domain.projections import INDEX_ROWS, LEDGER_ROWS, VECTORS
from memory_assets.domain.schemas import CANDIDATES, DECISIONS, MEMORIES
from memory_assets.errors import ChecksFailed

if TYPE_CHECKING:
    from memory_assets.steps.promotion.publish import PublishResult

GROUP = "registry"
PUBLISHER_POOL = "publisher"
_CHECKED_ASSET = "published_generation"


@dg.asset(
    deps=[effective_decisions, extracted_facts, "tenant_preflight"],
    group_name=GROUP,
    owners=OWNERS,
    kinds={"python", "polars", "parquet"},
    metadata=table_metadata(
        CANDIDATES, {"effective_decisions": DECISIONS}, DECISIONS_TO_CANDIDATES
    ),
)
def candidate_memories(
    context: dg.AssetExecutionContext, workspace: WorkspaceResource
) -> dg.MaterializeResult:
    """Effective clarifications that wait for a reviewer, each once per session, without a cap.

    Left out, with their reasons counted: decisions no longer in force, schema choices in disguise,
    open sessions, and everything that has a verdict already.
    """
    with as_failures(context):
        opened = workspace.open()
        result = opened.derive_candidates(now=now())
    finished(context, opened, "candidates", result)
    return dg.MaterializeResult(
        metadata=recorded(
            context,
            "candidate_memories",
            {
                **result.to_metadata(),
                "dagster/row_count": result.candidates,
                "backlog_by_night": night_by_night(
                    context,
                    "candidate_memories",
                    "candidates",
                    result.candidates,
                    title="candidates that wait for a reviewer",
                ),
            },
        )
    )


@dg.multi_asset(
    name="publication",
    specs=[
        dg.AssetSpec(
            "memory_registry",
            deps=[candidate_memories, effective_decisions, extracted_facts],
            group_name=GROUP,
            owners=OWNERS,
            kinds={"parquet", "polars"},
            description="The canonical memories of all tenants, ADD-only: accepted decisions "
            "become new rows once, their content never changes, restatements become "
            "corroborations.",
            metadata=table_metadata(
                MEMORIES, {"effective_decisions": DECISIONS}, DECISIONS_TO_MEMORIES
            ),
        ),
        dg.AssetSpec(
            "memory_embeddings",
            deps=["memory_registry"],
            group_name=GROUP,
            owners=OWNERS,
            kinds={"python", "huggingface"},
            description="One vector per active memory in one embedding space. A text that was ever "
            "embedded is read from the cache; a missing vector stays pending.",
            metadata=table_metadata(VECTORS, {"memory_registry": MEMORIES}, MEMORIES_TO_VECTORS),
        ),
        dg.AssetSpec(
            "memory_index",
            deps=["memory_registry", "memory_embeddings"],
            group_name=GROUP,
            owners=OWNERS,
            kinds={"lancedb"},
            description="The search projection of the active memories: vectors, folded full text "
            "and filters. Derived and disposable.",
            metadata=table_metadata(
                INDEX_ROWS, {"memory_registry": MEMORIES, "memory_embeddings": VECTORS}, TO_INDEX
            ),
        ),
        dg.AssetSpec(
            "published_generation",
            deps=["memory_index"],
            group_name=GROUP,
            owners=OWNERS,
            kinds={"json"},
            description="The pointer that makes registry and index of one generation visible, in "
            "one step, after every check has passed.",
        ),
    ],
    check_specs=[
        dg.AssetCheckSpec(
            check.__name__,
            asset=_CHECKED_ASSET,
            description=(check.__doc__ or "").strip(),
            blocking=True,
        )
        for check in BLOCKING_CHECKS
    ]
    + [
        dg.AssetCheckSpec(
            vectors_complete.__name__,
            asset="memory_embeddings",
            description=(vectors_complete.__doc__ or "").strip(),
        )
    ],
    can_subset=False,
    pool=PUBLISHER_POOL,
)
def publication(
    context: dg.AssetExecutionContext, workspace: WorkspaceResource
) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
    """Write, audit, publish: one operation under one lock that cannot be run in part."""
    try:
        with as_failures(context):
            opened = workspace.open()
            result = opened.publish(run_id=context.run.run_id, now=now())
    except dg.Failure as failure:
        if isinstance(failure.__cause__, ChecksFailed):
            yield from (_check_result(c) for c in failure.__cause__.results)
        raise
    finished(context, opened, "publish", result)
    for asset, counts in _counts(context, result).items():
        yield dg.MaterializeResult(asset_key=asset, metadata=recorded(context, asset, counts))
    yield from (_check_result(c) for c in result.checks or _unchanged())
    yield _check_result(vectors_complete(result.pending), "memory_embeddings")


def _counts(
    context: dg.AssetExecutionContext, result: "PublishResult"
) -> dict[str, dict[str, Any]]:
    """What each of the assets that are published together shows of the publication."""
    history = night_by_night(
        context,
        "memory_registry",
        "dagster/row_count",
        result.memories,
        title="active memories",
    )
    return {
        "memory_registry": {
            "dagster/row_count": result.memories,
            "new_memories": result.new_memories,
            "corroborated": result.corroborated,
            "memories_by_night": history,
            **{f"origin_{k}": v for k, v in result.by_origin.items()},
        },
        "memory_embeddings": {
            **(result.embedding.to_metadata() if result.embedding else {}),
            "dagster/row_count": result.memories - result.pending,
            "pending_vectors": result.pending,
            **embedding_metadata(result),
        },
        "memory_index": {
            **(result.index.to_metadata() if result.index else {}),
            "dagster/row_count": result.memories,
        },
        _CHECKED_ASSET: {
            **result.to_metadata(),
            **{f"seconds_{k}": v for k, v in result.seconds.items()},
        },
    }


def _unchanged() -> tuple[CheckResult, ...]:
    """Nothing was published, so the generation that passed these checks still stands."""
    return tuple(
        CheckResult(check.__name__, passed=True, message="unchanged since it was published")
        for check in BLOCKING_CHECKS
    )


def _check_result(check: CheckResult, asset: str = _CHECKED_ASSET) -> dg.AssetCheckResult:
    return check_outcome(
        check.name,
        check.message,
        check.remedy,
        passed=check.passed,
        severity=check.severity,
        asset=asset,
        metadata={"rows": check.rows, "examples": list(check.examples)},
    )


@dg.asset(
    deps=["published_generation"],
    group_name=GROUP,
    owners=OWNERS,
    kinds={"json", "file"},
    metadata=table_metadata(LEDGER_ROWS),
)
def session_markers(
    context: dg.AssetExecutionContext, workspace: WorkspaceResource
) -> dg.MaterializeResult:
    """Published verdicts, written as markers to the companion file beside each ledger.

    Only what is missing is appended, after publication, so a crash can at worst delay a marker.
    """
    with as_failures(context):
        opened = workspace.open()
        result = opened.mark(now=now())
        finished(context, opened, "markers", result)
        result.raise_if_owed()
    return dg.MaterializeResult(metadata=result.to_metadata())


@dg.asset(
    deps=["published_generation"],
    group_name=GROUP,
    owners=OWNERS,
    kinds={"duckdb", "sql"},
)
def registry_views(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """``registry.duckdb``: the published registry as read-only SQL views, for people and tools."""
    with as_failures():
        path = workspace.open().write_views()
    return dg.MaterializeResult(metadata={"file": dg.MetadataValue.path(str(path))})
