"""Assets of the first group: ledgers, their events, and the decisions in force."""

from collections import Counter

import dagster as dg
from pydantic import Field

from memory_assets.defs.charts import night_by_night
from memory_assets.defs.checks import check_outcome
from memory_assets.defs.columns import EVENTS_TO_DECISIONS, LEDGER_TO_EVENTS
from memory_assets.defs.describe import recorded, table_metadata
from memory_assets.defs.failures import as_failures
from memory_assets.defs.logs import finished
from memory_assets.defs.resources import WorkspaceResource
from memory_assets.domain.checks import quarantine_ratio
from memory_assets.domain.projections import LEDGER_ROWS
from memory_assets.domain.schemas import DECISIONS, EVENTS

GROUP = "ledgers"
OWNERS = ["team:memory-assets"]


class ChosenSessions(dg.Config):
    """Which sessions a run takes in; everything that changed when nothing is chosen."""

    tenants: list[str] = Field(default_factory=list, description="Names of tenants; empty: all.")
    sessions: list[str] = Field(
        default_factory=list, description="Sessions as tenant/session; empty: all."
    )
    since: str = Field(
        default="", description="First day, YYYY-MM-DD in UTC, of a session's first row."
    )
    until: str = Field(default="", description="Last day of a session's first row, included.")


session_ledgers = dg.AssetSpec(
    "session_ledgers",
    group_name=GROUP,
    owners=OWNERS,
    kinds={"json", "file"},
    description="The session ledgers that agents write: one append-only JSONL file per session, in "
    "one folder per tenant. They are read, never changed.",
    metadata=table_metadata(LEDGER_ROWS),
)


@dg.asset(
    deps=[session_ledgers, "tenant_preflight"],
    group_name=GROUP,
    owners=OWNERS,
    kinds={"python", "polars", "parquet"},
    metadata=table_metadata(EVENTS, {"session_ledgers": LEDGER_ROWS}, LEDGER_TO_EVENTS),
    check_specs=[
        dg.AssetCheckSpec(
            "quarantine_ratio",
            asset="ledger_events",
            description="Warns when too many lines were refused: a writer may have changed format.",
        ),
        dg.AssetCheckSpec(
            "no_blocked_sessions",
            asset="ledger_events",
            description="Warns about sessions that broke the append-only rule, vanished, or cannot "
            "be read: nothing new is published from them.",
        ),
    ],
)
def ledger_events(
    context: dg.AssetExecutionContext, workspace: WorkspaceResource, config: ChosenSessions
) -> dg.MaterializeResult:
    """Every accepted row of every ledger and companion file, strictly parsed.

    Only files that changed since the last night are opened. Refused lines go to quarantine with
    file, line, reason and raw bytes, and never stop the others. The run configuration may choose
    tenants, sessions or days, for a backfill in pieces; the others wait.
    """
    from memory_assets.steps.ledgers.selection import Selection

    with as_failures(context):
        opened = workspace.open()
        chosen = Selection.of(config.tenants, config.sessions, config.since, config.until)
        chosen.check(opened.settings.ledgers)
        result = opened.ingest(chosen=chosen.takes)
    finished(context, opened, "ingest", result)
    ratio = quarantine_ratio(
        result.quarantined,
        result.events,
        warn_from=opened.settings.number("quarantine_warn_ratio"),
    )
    blocked = [f"{tenant}/{session}" for tenant, session, _, _ in result.problems]
    kinds = Counter(status for _, _, status, _ in result.problems)
    by_kind = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items()))
    for tenant, sessions in result.unknown_tenants.items():
        context.log.warning("tenant %s has no entry in tenants.toml: %d sessions", tenant, sessions)
    return dg.MaterializeResult(
        metadata=recorded(
            context,
            "ledger_events",
            {
                **result.to_metadata(),
                "dagster/row_count": result.events,
                "new_events_by_night": night_by_night(
                    context, "ledger_events", "new_events", result.new_events, title="new events"
                ),
                "quarantine_by_night": night_by_night(
                    context,
                    "ledger_events",
                    "quarantined_lines",
                    result.quarantined,
                    title="lines in quarantine",
                ),
            },
        ),
        check_results=[
            check_outcome(
                "quarantine_ratio",
                ratio.message,
                ratio.remedy,
                passed=ratio.passed,
                metadata={"refused_lines": ratio.rows},
            ),
            check_outcome(
                "no_blocked_sessions",
                f"{len(blocked)} session(s) are blocked ({by_kind}): nothing new is published from "
                "them."
                if blocked
                else "",
                "`memory-assets doctor` says for each what to restore or repair.",
                passed=not blocked,
                metadata={"blocked": len(blocked), "sessions": blocked[:50], **kinds},
            ),
        ],
    )


@dg.asset(
    deps=[ledger_events],
    group_name=GROUP,
    owners=OWNERS,
    kinds={"python", "polars", "parquet"},
    metadata=table_metadata(DECISIONS, {"ledger_events": EVENTS}, EVENTS_TO_DECISIONS),
)
def effective_decisions(
    context: dg.AssetExecutionContext, workspace: WorkspaceResource
) -> dg.MaterializeResult:
    """Every decision of every session after the replay: in force, or the row that ended it.

    Withdrawals, reopenings and rollbacks end decisions without deleting a row. Sessions whose rows
    did not change are not replayed.
    """
    with as_failures(context):
        opened = workspace.open()
        result = opened.decide()
    finished(context, opened, "decide", result)
    return dg.MaterializeResult(
        metadata=recorded(
            context,
            "effective_decisions",
            {**result.to_metadata(), "dagster/row_count": result.decisions},
        )
    )
