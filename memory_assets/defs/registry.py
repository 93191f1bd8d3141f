"""Assets of the second group: candidates, and the registry that is published whole or not at all."""

from collections.abc import Iterator

import dagster as dg

from memory_assets.defs.describe import table_metadata
from memory_assets.defs.failures import as_failures
from memory_assets.defs.ledgers import OWNERS, effective_decisions
from memory_assets.defs.resources import WorkspaceResource, now
from memory_assets.defs.stages import note
from memory_assets.domain.checks import BLOCKING_CHECKS, CheckResult
from memory_assets.domain.schemas import CANDIDATES, CORROBORATIONS, DECISIONS, MEMORIES
from memory_assets.errors import ChecksFailed

GROUP = "registry"
PUBLISHER_POOL = "publisher"
_CHECKED_ASSET = "published_generation"


@dg.asset(
    deps=[effective_decisions],
    group_name=GROUP,
    owners=OWNERS,
    kinds={"python", "polars", "parquet"},
    metadata=table_metadata(CANDIDATES, {"effective_decisions": DECISIONS}),
)
def candidate_memories(
    context: dg.AssetExecutionContext, workspace: WorkspaceResource
) -> dg.MaterializeResult:
    """Effective clarifications that wait for a reviewer, each once per session, without a cap.

    Left out, with their reasons counted: decisions no longer in force, schema choices in disguise,
    open sessions, and everything that has a verdict already.
    """
    with as_failures():
        result = workspace.open().derive_candidates(now=now())
    note(context.run.run_id, "candidates", result)
    return dg.MaterializeResult(
        metadata={**result.to_metadata(), "dagster/row_count": result.candidates}
    )


@dg.multi_asset(
    name="publication",
    specs=[
        dg.AssetSpec(
            "memory_registry",
            deps=[candidate_memories, effective_decisions],
            group_name=GROUP,
            owners=OWNERS,
            kinds={"parquet", "polars"},
            description="The canonical memories of all tenants, ADD-only: accepted decisions become "
            "new rows once, their content never changes, restatements become corroborations.",
            metadata=table_metadata(MEMORIES, {"effective_decisions": DECISIONS}),
        ),
        dg.AssetSpec(
            "memory_embeddings",
            deps=["memory_registry"],
            group_name=GROUP,
            owners=OWNERS,
            kinds={"python", "huggingface"},
            description="One vector per active memory in one embedding space. A text that was ever "
            "embedded is read from the cache; a missing vector stays pending.",
        ),
        dg.AssetSpec(
            "memory_index",
            deps=["memory_registry", "memory_embeddings"],
            group_name=GROUP,
            owners=OWNERS,
            kinds={"lancedb"},
            description="The search projection of the active memories: vectors, folded full text "
            "and filters. Derived and disposable.",
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
    ],
    can_subset=False,
    pool=PUBLISHER_POOL,
)
def publication(
    context: dg.AssetExecutionContext, workspace: WorkspaceResource
) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
    """Write, audit, publish: one operation under one lock that cannot be run in part."""
    try:
        with as_failures():
            result = workspace.open().publish(run_id=context.run.run_id, now=now())
    except dg.Failure as failure:
        if isinstance(failure.__cause__, ChecksFailed):
            yield from (_check_result(c) for c in failure.__cause__.results)
        raise
    note(context.run.run_id, "publish", result)
    counts = result.to_metadata()
    yield dg.MaterializeResult(
        asset_key="memory_registry",
        metadata={
            "dagster/row_count": result.memories,
            "new_memories": result.new_memories,
            "corroborated": result.corroborated,
            **{f"origin_{k}": v for k, v in result.by_origin.items()},
        },
    )
    embedding = result.embedding.to_metadata() if result.embedding else {}
    yield dg.MaterializeResult(
        asset_key="memory_embeddings",
        metadata={**embedding, "pending_vectors": result.pending},
    )
    index = result.index.to_metadata() if result.index else {}
    yield dg.MaterializeResult(
        asset_key="memory_index", metadata={**index, "dagster/row_count": result.memories}
    )
    yield dg.MaterializeResult(
        asset_key=_CHECKED_ASSET,
        metadata={**counts, **{f"seconds_{k}": v for k, v in result.seconds.items()}},
    )
    yield from (_check_result(c) for c in result.checks or _unchanged())


def _unchanged() -> tuple[CheckResult, ...]:
    """Nothing was published, so the generation that passed these checks still stands."""
    return tuple(
        CheckResult(check.__name__, passed=True, message="unchanged since it was published")
        for check in BLOCKING_CHECKS
    )


def _check_result(check: CheckResult) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        asset_key=_CHECKED_ASSET,
        check_name=check.name,
        passed=check.passed,
        severity=dg.AssetCheckSeverity.ERROR,
        description=check.message,
        metadata={"rows": check.rows, "examples": list(check.examples)},
    )


@dg.asset(
    deps=["published_generation"],
    group_name=GROUP,
    owners=OWNERS,
    kinds={"json", "file"},
    metadata=table_metadata(CORROBORATIONS),
)
def session_markers(
    context: dg.AssetExecutionContext, workspace: WorkspaceResource
) -> dg.MaterializeResult:
    """Published verdicts, written as markers to the companion file beside each ledger.

    Only what is missing is appended, after publication, so a crash can at worst delay a marker.
    """
    with as_failures():
        result = workspace.open().mark(now=now())
        note(context.run.run_id, "markers", result)
        result.raise_if_owed()
    return dg.MaterializeResult(metadata=result.to_metadata())


@dg.asset(
    deps=["published_generation"],
    group_name=GROUP,
    owners=OWNERS,
    kinds={"duckdb", "sql"},
)
def registry_views(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """``registry.duckdb``: the published registry as read-only SQL views for people and BI tools."""
    with as_failures():
        path = workspace.open().write_views()
    return dg.MaterializeResult(metadata={"file": dg.MetadataValue.path(str(path))})
