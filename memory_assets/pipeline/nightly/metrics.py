"""The figures of an installation for monitoring, worked out from its tables alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from memory_assets.domain.prometheus import Gauge, exposition
from memory_assets.domain.schemas import CANDIDATES, SESSIONS
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.ledgers import ingest
from memory_assets.steps.promotion import candidates
from memory_assets.storage.files import write_atomically

FILE_NAME: Final = "metrics.prom"
BLOCKED: Final = ("append-only-violation", "missing", "unreadable")


@dataclass(frozen=True, slots=True)
class MetricsResult:
    """What was written, and where."""

    path: Path
    gauges: tuple[Gauge, ...]

    def to_metadata(self) -> dict[str, Any]:
        """The figures without labels."""
        return {g.name: g.values[()] for g in self.gauges if () in g.values}


def write_metrics(workspace: Workspace, *, now: datetime) -> MetricsResult:
    """The Prometheus text file, written anew: ``metrics_file``, or ``metrics.prom`` in the home.

    Replaced in one step, as the node exporter's textfile collector wants it.

    Raises:
        StoreWriteFailed: it cannot be written.
    """
    named = workspace.settings.text("metrics_file")
    path = Path(named).expanduser().absolute() if named else workspace.home.root / FILE_NAME
    gauges = tuple(figures(workspace, now=now))
    write_atomically(path, exposition(gauges).encode())
    return MetricsResult(path, gauges)


def figures(workspace: Workspace, *, now: datetime) -> Iterator[Gauge]:
    """Every figure; each is read from a table, so the numbers hold whatever ran last."""
    yield Gauge.plain(
        "night_timestamp_seconds", "When the last night ended, Unix time.", int(now.timestamp())
    )
    sessions = workspace.derived.read(ingest.GROUP, SESSIONS)
    tenants = sessions["tenant_id"].unique().to_list()
    yield from _sessions(sessions)
    waiting = workspace.derived.read(candidates.GROUP, CANDIDATES)
    meaning = "Candidates that wait for a reviewer."
    yield Gauge.by("tenant", "candidates", meaning, _per_tenant(waiting, tenants))
    generation = workspace.generations.current()[0]
    yield Gauge.plain("generation", "Number of the published generation.", generation.number)
    if generation.number:
        published = datetime.fromisoformat(generation.published_at).timestamp()
        meaning = "When the published generation was published, Unix time."
        yield Gauge.plain("published_timestamp_seconds", meaning, published)
    memories = workspace.registry().memories
    yield Gauge.by("tenant", "memories", "Published memories.", _per_tenant(memories, tenants))
    serving = generation.serving
    yield Gauge.plain("index_rows", "Memories in the search index.", serving.rows if serving else 0)
    yield Gauge.plain(
        "pending_vectors",
        "Memories without a vector: found by their words only.",
        serving.pending if serving else 0,
    )


def _sessions(sessions: pl.DataFrame) -> Iterator[Gauge]:
    yield Gauge.by(
        "tenant", "sessions", "Sessions that were read at least once.", _per_tenant(sessions)
    )
    blocked = {s: sessions.filter(pl.col("status") == s).height for s in BLOCKED}
    yield Gauge.by(
        "status", "blocked_sessions", "Sessions from which nothing new is published.", blocked
    )
    open_sessions = sessions.filter(~pl.col("closed")).height
    yield Gauge.plain("open_sessions", "Sessions that are not finished.", open_sessions)
    rows = int(sessions["rows"].sum()) + int(sessions["companion_rows"].sum())
    yield Gauge.plain("events", "Accepted rows of ledgers and companion files.", rows)
    refused = int(sessions["quarantined"].sum())
    yield Gauge.plain("quarantined_lines", "Refused lines that wait for a repair.", refused)


def _per_tenant(rows: pl.DataFrame, tenants: Iterable[str] = ()) -> dict[str, float]:
    """Rows per tenant; a series that vanished at zero could not be told from one that is broken."""
    found: dict[str, float] = dict.fromkeys(tenants, 0)
    return found | dict(rows["tenant_id"].value_counts(name="n").iter_rows())
