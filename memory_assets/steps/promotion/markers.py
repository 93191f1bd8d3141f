"""Published verdicts → markers in the companion files, written only after publication."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from memory_assets.domain.events import format_ref
from memory_assets.domain.parsing import ParsedLedger
from memory_assets.domain.ports import Progress
from memory_assets.domain.schemas import PROMOTION_KEY, SESSIONS
from memory_assets.errors import MarkersOwed, MemoryAssetsError
from memory_assets.steps.ledgers import ingest
from memory_assets.steps.ledgers.decide import current_decisions
from memory_assets.steps.promotion.consolidate import Assessment
from memory_assets.steps.registry.view import RegistryView
from memory_assets.storage.companion import append_missing
from memory_assets.storage.failpoints import reached
from memory_assets.storage.files import write_errors
from memory_assets.storage.ledgers import companion_path, ledger_path
from memory_assets.storage.parts import DerivedTables

_WRITERS: Final = 8  # a write spends its time in fsync, which lets other threads run
_TYPES: Final = {"promoted": "memory_promoted", "declined": "memory_promotion_declined"}


@dataclass(frozen=True, slots=True)
class MarkersResult:
    """What was written, and which sessions are still owed a marker."""

    owed: int
    written: int
    sessions: int
    failed: tuple[tuple[str, str, str], ...] = ()
    """(tenant_id, session_id, what went wrong)."""

    def to_metadata(self) -> dict[str, Any]:
        """Counts for the run's metadata."""
        return {
            "markers_owed": self.owed,
            "markers_written": self.written,
            "sessions_marked": self.sessions,
            "sessions_still_owed": len(self.failed),
        }

    def raise_if_owed(self) -> None:
        """Nothing when all is written.

        Raises:
            MarkersOwed: some companion files could not be written; the message names them.
        """
        if self.failed:
            names = ", ".join(f"{t}/{s}" for t, s, _ in self.failed[:10])
            raise MarkersOwed(
                f"{len(self.failed)} session(s) are owed markers of published verdicts: {names}. "
                f"First cause: {self.failed[0][2]}",
                remedy="make the companion files writable, then run `memory-assets recover`. The "
                "registry itself is complete.",
            )


def owed_markers(
    derived: DerivedTables, registry: RegistryView, assessment: Assessment
) -> pl.DataFrame:
    """Verdicts that ledger and companion do not show yet, by comparing tables.

    Columns: the promotion key, ``verdict``, ``memory_id`` (null for a decline) and ``by``.
    """
    sessions = derived.read(ingest.GROUP, SESSIONS)
    seen = current_decisions(derived, sessions, [*PROMOTION_KEY, "verdict"])
    columns = [*PROMOTION_KEY, "memory_id", pl.col("verdict_by").alias("by")]
    promoted = pl.concat(
        [registry.memories.select(columns), registry.corroborations.select(columns)]
    ).with_columns(pl.lit("promoted").alias("wanted"))
    declined = assessment.routes.filter(
        (pl.col("route") == "declined") & (pl.col("review_verdict") == "decline")
    ).select(
        *PROMOTION_KEY,
        pl.lit(None, pl.String).alias("memory_id"),
        pl.concat_str(pl.lit("reviewer "), pl.col("reviewer")).alias("by"),
        pl.lit("declined").alias("wanted"),
    )
    here = sessions.filter(pl.col("status") != "missing").select(
        "tenant_id", "session_id", "last_seq"
    )
    return (
        pl.concat([promoted, declined])
        .join(seen, on=PROMOTION_KEY, how="inner")
        .filter(pl.col("verdict").is_null() | (pl.col("verdict") != pl.col("wanted")))
        # A marker of the ledger itself was there: if it is gone, somebody took it back, and writing
        # it anew would hide that from the reviewer who is asked about a retirement.
        .filter(~pl.col("by").str.starts_with("marker seq:"))
        .join(here, on=["tenant_id", "session_id"], how="inner")
        .drop("verdict")
        .sort(PROMOTION_KEY)
    )


def write_markers(
    ledgers: Path, owed: pl.DataFrame, *, now: datetime, progress: Progress | None = None
) -> MarkersResult:
    """Appends each owed marker to its companion file, once; failures are listed, not raised.

    Each companion is read again under its lock, so a marker that a killed run wrote already is not
    written twice.
    """
    groups = [
        (str(tenant), str(session), rows.to_dicts())
        for (tenant, session), rows in owed.group_by("tenant_id", "session_id", maintain_order=True)
    ]
    written = 0
    failed = []
    with ThreadPoolExecutor(_WRITERS) as pool:
        outcomes = pool.map(lambda g: _write_session(ledgers, g[0], g[1], g[2], now), groups)
        for done, ((tenant, session, _), outcome) in enumerate(
            zip(groups, outcomes, strict=True), 1
        ):
            if isinstance(outcome, MemoryAssetsError):
                failed.append((tenant, session, outcome.what))
            else:
                written += outcome
            if done == 1:
                reached("markers.first-written")
            if progress is not None and (done % 200 == 0 or done == len(groups)):
                progress(done, len(groups))
    reached("markers.all-written")
    return MarkersResult(owed.height, written, len(groups), tuple(failed))


def _write_session(
    ledgers: Path, tenant: str, session: str, rows: Sequence[dict[str, Any]], now: datetime
) -> int | MemoryAssetsError:
    ledger = ledger_path(ledgers, tenant, session)
    try:
        with write_errors(ledger):
            if not ledger.exists():
                return 0
        return append_missing(
            companion_path(ledgers, tenant, session),
            tenant_id=tenant,
            session_id=session,
            missing=lambda parsed: _missing(parsed, rows, now),
        )
    except MemoryAssetsError as error:
        return error


def _missing(
    parsed: ParsedLedger, rows: Sequence[dict[str, Any]], now: datetime
) -> list[dict[str, Any]]:
    latest = {
        e.target: e.type
        for e in parsed.events
        if e.type in _TYPES.values() and e.target is not None
    }
    after = max((e.after_seq for e in parsed.events), default=0)
    return [
        {
            "after_seq": max(after, row["last_seq"]),
            "ts": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "phase": "F8",
            "type": _TYPES[row["wanted"]],
            "detail": format_ref(row["decision_seq"]),
            "rationale": row["memory_id"] or "",
            # A companion row with a NUL would be refused, and written anew every night.
            "metadata": {"by": row["by"].replace("\0", ""), "memory_id": row["memory_id"] or ""},
        }
        for row in rows
        if latest.get(row["decision_seq"]) != _TYPES[row["wanted"]]
    ]
