"""One night from ledgers to markers, and its report: what came in, what went out, what was left."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, Final, TypeVar

from memory_assets.domain.reasons import in_words
from memory_assets.pipeline.inspect.quarantine import RefusedLine, refused_lines
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.ledgers.decide import DecideResult
from memory_assets.steps.ledgers.ingest import IngestResult
from memory_assets.steps.merge.types import MergeNight
from memory_assets.steps.promotion.extract import ExtractResult
from memory_assets.steps.promotion.markers import MarkersResult
from memory_assets.steps.promotion.publish import PublishResult
from memory_assets.steps.review.queue import proposals_by_tenant
from memory_assets.storage.deviations import stopped_tenants

NightProgress = Callable[[str, int, int], None]
"""Called with (what is being done, done, total) while a night goes on."""

SHOWN_LINES: Final = 20
"""Refused lines that the report quotes; ``quarantine list`` has them all."""
STEPS: Final = (
    "preflight",
    "ingest",
    "decide",
    "extract",
    "candidates",
    "publish",
    "markers",
    "merge",
    "queue",
    "views",
    "tiers",
)
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class NightReport:
    """What one night did, from the results of its four stages; counts, places, no content."""

    ingest: IngestResult
    decide: DecideResult
    publish: PublishResult
    markers: MarkersResult
    steps: Mapping[str, float]
    """Seconds per stage."""
    seconds: float
    """Seconds from start to end."""
    refused: tuple[RefusedLine, ...] = ()
    """The first refused lines of the ledgers."""
    paths: Mapping[str, str] = field(default_factory=dict)
    extract: ExtractResult | None = None
    """What became of free-text events."""
    merge: MergeNight | None = None
    """What the nightly step of the merge did; None where it did not run."""
    proposals: Mapping[str, int] = field(default_factory=dict)
    """Proposals about published memories that wait for a reviewer, per tenant."""
    stopped: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Tenants that the pre-flight check stopped, each with the check, its message and remedy."""

    @classmethod
    def from_parts(
        cls,
        ingest: IngestResult,
        decide: DecideResult,
        publish: PublishResult,
        markers: MarkersResult,
        seconds: Mapping[str, float],
        *,
        extract: ExtractResult | None = None,
        merge: MergeNight | None = None,
    ) -> NightReport:
        """The report of stages that ran one by one, wherever they ran.

        ``seconds`` has a key per stage (see ``STEPS``), and may hold ``all``, the time from start
        to end with whatever lay between the stages.
        """
        steps = {name: round(seconds[name], 3) for name in STEPS if name in seconds}
        whole = round(seconds.get("all", sum(steps.values())), 3)
        return cls(ingest, decide, publish, markers, steps, whole, extract=extract, merge=merge)

    def located(self, workspace: Workspace) -> NightReport:
        """The same report with what only the workspace knows: lines, proposals, stops, places."""
        return replace(
            self,
            refused=refused_lines(workspace, limit=SHOWN_LINES),
            proposals=proposals_by_tenant(workspace.derived),
            stopped=stopped_tenants(workspace.home.preflight),
            paths=night_paths(workspace),
        )

    @property
    def held_up(self) -> list[str]:
        """Tenants of the settings that the pre-flight check stopped; nothing of them was promoted.

        Folders that no settings name are told as ``ingest.unknown_tenants``.
        """
        return sorted(self.stopped.keys() - self.ingest.unknown_tenants.keys())

    @property
    def waiting(self) -> dict[str, int]:
        """Candidates that wait for a reviewer, per tenant."""
        return waiting_by_tenant(self.publish)

    @property
    def candidates(self) -> int:
        """What the preview offered tonight: to a reviewer, or to the tenant's automatic policy."""
        assessment = self.publish.assessment
        return assessment.candidates.height + assessment.count("automatic")

    @property
    def dropped(self) -> dict[str, int]:
        """Clarifications that are no candidates, by reason code."""
        return self.publish.assessment.reasons()

    def to_dict(self) -> dict[str, Any]:
        """The report as ``--json`` prints it; the first ten keys are stable names."""
        night, decided, published = self.ingest, self.decide, self.publish
        return {
            "sessions": night.sessions,
            "events": night.events,
            "quarantined": night.quarantined,
            "effective": decided.in_force,
            "candidates": self.candidates,
            "promoted": published.new_memories,
            "memories": published.memories,
            "embedded": published.embedded,
            "generation": published.generation,
            "seconds": self.seconds,
            "published": published.published,
            "sessions_read": night.read,
            "sessions_changed": night.changed,
            "open_sessions": night.open_sessions,
            "fail_closed_sessions": night.fail_closed,
            "new_events": night.new_events,
            "companion_events": night.companion_events,
            "decisions": decided.decisions,
            "effective_clarifications": decided.clarifications_in_force,
            "waiting": sum(self.waiting.values()),
            "waiting_by_tenant": self.waiting,
            "proposals": sum(self.proposals.values()),
            "proposals_by_tenant": dict(self.proposals),
            "dropped": [
                {"code": code, "count": count, "reason": in_words(code)}
                for code, count in self.dropped.items()
            ],
            "extracted": self.extract.to_metadata() if self.extract else {},
            "extraction_problems": list(self.extract.problems) if self.extract else [],
            "merge": self.merge.to_metadata() if self.merge else {},
            "corroborated": published.corroborated,
            "promoted_by_origin": dict(published.by_origin),
            "pending_vectors": published.pending,
            "intents_applied": published.intents_applied,
            "intents_refused": [refused.to_dict() for refused in published.refused_intents],
            "removed": published.removed,
            "markers_written": self.markers.written,
            "sessions_still_owed": [
                {"tenant_id": t, "session_id": s, "message": why}
                for t, s, why in self.markers.failed
            ],
            "quarantine": [line.to_dict() for line in self.refused],
            "refused_reviews": [
                {"line": r.line, "code": r.code, "reason": r.reason}
                for r in published.assessment.refused_reviews
            ],
            "problems": problem_rows(night),
            "unknown_tenants": dict(night.unknown_tenants),
            "switched_off_tenants": dict(night.switched_off),
            "stopped_tenants": {
                tenant: {name: found[name] for name in ("number", "name", "message", "remedy")}
                for tenant, found in self.stopped.items()
            },
            "checks": [check.to_dict() for check in published.checks],
            "steps": dict(self.steps),
            "publish_steps": dict(published.seconds),
            "paths": dict(self.paths),
        }


def run_night(
    workspace: Workspace, *, now: datetime, run_id: str, progress: NightProgress | None = None
) -> NightReport:
    """The report of a whole night: ledgers read, decisions replayed, published, markers written.

    Each stage does what the tables say is left to do, so a night that stopped anywhere is simply
    run again.

    Raises:
        MemoryAssetsError: a stage could not end; what was published before stays published.
    """
    seconds: dict[str, float] = {}

    def timed(step: str, work: Callable[[], _T]) -> _T:
        began = time.perf_counter()
        try:
            return work()
        finally:
            seconds[step] = time.perf_counter() - began

    def told(what: str) -> Callable[[int, int], None] | None:
        return partial(progress, what) if progress is not None else None

    read = timed("ingest", lambda: workspace.ingest(progress=told("reading ledgers")))
    decided = timed("decide", workspace.decide)
    extracted = timed("extract", lambda: workspace.extract(now=now))
    published = timed(
        "publish",
        lambda: workspace.publish(run_id=run_id, now=now, progress=told("embedding memories")),
    )
    marked = timed("markers", lambda: workspace.mark(now=now, progress=told("writing markers")))
    timed("candidates", lambda: workspace.derive_candidates(now=now))
    timed("queue", lambda: workspace.derive_queue(now=now, progress=told("comparing candidates")))
    timed("views", workspace.write_views)
    report = NightReport.from_parts(read, decided, published, marked, seconds, extract=extracted)
    return report.located(workspace)


def waiting_by_tenant(published: PublishResult) -> dict[str, int]:
    """Candidates that wait for a reviewer, per tenant."""
    counted = published.assessment.candidates["tenant_id"].value_counts(name="n")
    return dict(sorted(counted.rows()))


def problem_rows(night: IngestResult) -> list[dict[str, str]]:
    """The blocked sessions of a reading, with what is wrong and what to do."""
    names = ("tenant_id", "session_id", "status", "message")
    return [dict(zip(names, problem, strict=True)) for problem in night.problems]


def night_paths(workspace: Workspace) -> dict[str, str]:
    """Where the files of a night are."""
    home = workspace.home
    found: Sequence[tuple[str, object]] = (
        ("home", home.root),
        ("ledgers", workspace.settings.ledgers),
        ("current", home.current),
        ("registry", home.registry),
        ("index", home.index),
        ("derived", home.derived),
        ("review", home.review_decisions),
    )
    return {name: str(path) for name, path in found}
