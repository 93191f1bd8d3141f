"""A night that writes nothing: what would be promoted, what would be left out, and why."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from memory_assets.domain.events import format_ref
from memory_assets.domain.personal import mask
from memory_assets.domain.reasons import in_words
from memory_assets.pipeline.inspect.quarantine import RefusedLine, refused_lines_of
from memory_assets.pipeline.nightly.night import NightProgress, problem_rows
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.ledgers.decide import DecideResult, decide
from memory_assets.steps.ledgers.ingest import IngestResult, ingest
from memory_assets.steps.promotion.consolidate import Assessment
from memory_assets.steps.promotion.extraction import rehearse_facts
from memory_assets.steps.promotion.personal import ClientNames, with_personal
from memory_assets.steps.promotion.planning import Plan, plan_generation
from memory_assets.steps.promotion.publish import assess_home
from memory_assets.steps.registry.access import new_uses
from memory_assets.storage.intents import read_intents
from memory_assets.storage.parts import DerivedTables

_LEFT_OUT: Final = ("refused", "blocked", "open", "declined")


@dataclass(frozen=True, slots=True)
class DryRunReport:
    """What the next night would do if it started now."""

    ingest: IngestResult
    decide: DecideResult
    assessment: Assessment
    plan: Plan
    refused: tuple[RefusedLine, ...]
    generation: int
    """The published generation, which stays."""
    seconds: float
    client_names: ClientNames = lambda _: ()
    """What is only listed here is shown with personal data covered."""

    @property
    def candidates(self) -> int:
        """What the preview would offer: to a reviewer, or to the automatic policy."""
        return self.assessment.candidates.height + self.assessment.count("automatic")

    def would_promote(self) -> list[dict[str, Any]]:
        """New memories with the ids that they would get, if nothing else changed before."""
        return [self._shown(row, "new memory") for row in self.plan.promotions.memories]

    def would_corroborate(self) -> list[dict[str, Any]]:
        """Decisions that would count as "seen again" for an existing or new memory."""
        return [self._shown(row, row["kind"]) for row in self.plan.promotions.corroborations]

    def would_wait(self) -> list[dict[str, Any]]:
        """Candidates that would wait for a reviewer, with what they look like."""
        return [
            {
                **_place(row),
                "subject": self._covered(row, row["subject"]),
                "label": with_personal(row["label"], row["personal"]),
            }
            for row in self.assessment.candidates.to_dicts()
        ]

    def left_out(self) -> list[dict[str, Any]]:
        """Clarifications that would be no candidates, each with its reason."""
        rows = self.assessment.routes.filter(pl.col("route").is_in(_LEFT_OUT)).to_dicts()
        return [
            {
                **_place(row),
                "subject": self._covered(row, row["subject"]),
                **{name: self._covered(row, said) for name, said in _why(row).items()},
            }
            for row in rows
        ]

    def to_dict(self) -> dict[str, Any]:
        """The report as ``--json`` prints it; the counts are named as those of a real night."""
        return {
            "dry_run": True,
            "sessions": self.ingest.sessions,
            "events": self.ingest.events,
            "quarantined": self.ingest.quarantined,
            "effective": self.decide.in_force,
            "candidates": self.candidates,
            "promoted": len(self.plan.promotions.memories),
            "memories": self.plan.after.active().height,
            "embedded": 0,
            "generation": self.generation,
            "seconds": self.seconds,
            "corroborated": len(self.plan.promotions.corroborations),
            "waiting": self.assessment.candidates.height,
            "intents_applied": self.plan.intents_applied,
            "intents_refused": [refused.to_dict() for refused in self.plan.refused],
            "would_promote": self.would_promote(),
            "would_corroborate": self.would_corroborate(),
            "would_wait": self.would_wait(),
            "left_out": self.left_out(),
            "dropped": [
                {"code": code, "count": count, "reason": in_words(code)}
                for code, count in self.assessment.reasons().items()
            ],
            "quarantine": [line.to_dict() for line in self.refused],
            "refused_reviews": [
                {"line": r.line, "code": r.code, "reason": r.reason}
                for r in self.assessment.refused_reviews
            ],
            "problems": problem_rows(self.ingest),
            "unknown_tenants": dict(self.ingest.unknown_tenants),
        }

    def _covered(self, row: Mapping[str, Any], said: str) -> str:
        return mask(said, self.client_names(row["tenant_id"]))

    def _shown(self, row: Mapping[str, Any], kind: str) -> dict[str, Any]:
        found = {"memory_id": row["memory_id"], "kind": kind, **_place(row)}
        covered = {name: self._covered(row, row[name]) for name in ("subject", "detail")}
        return {**found, **covered, "verdict_by": row["verdict_by"]}


def rehearse(
    workspace: Workspace, *, now: datetime, progress: NightProgress | None = None
) -> DryRunReport:
    """What a night started at ``now`` would do; neither home nor ledgers are touched.

    Derived tables are brought up to date in a temporary folder that starts from the home's own, so
    watermarks (and with them lost or changed rows) are judged as in the night itself. Nothing is
    embedded: what an embedding or a check of the new generation would say is not foreseen.

    Raises:
        MemoryAssetsError: the ledgers or the home cannot be read.
    """
    began = time.perf_counter()
    told = (lambda done, total: progress("reading ledgers", done, total)) if progress else None
    with _borrowed(workspace.home.derived) as derived:
        read = ingest(
            workspace.settings.ledgers,
            derived,
            is_known_tenant=workspace.settings.is_known,
            is_switched_off=workspace.settings.is_switched_off,
            progress=told,
        )
        decided = decide(derived, rules_for=workspace.tenant_rules)
        rehearse_facts(workspace.home, derived, workspace.settings, workspace.tenant_rules, now=now)
        current, _ = workspace.generations.current()
        registry = workspace.registry()
        settings = workspace.publish_settings
        assessment = assess_home(workspace.home, derived, registry, settings, now=now)
        intents = read_intents(workspace.home).after(current.intents_through)
        uses = new_uses(workspace.home.access_log, registry, generation=current.number + 1, now=now)
        plan = plan_generation(current, registry, assessment.accepted, intents, uses)
        return DryRunReport(
            ingest=read,
            decide=decided,
            assessment=assessment,
            plan=plan,
            refused=refused_lines_of(derived),
            generation=current.number,
            seconds=round(time.perf_counter() - began, 3),
            client_names=workspace.client_names,
        )


@contextmanager
def _borrowed(derived: Path) -> Iterator[DerivedTables]:
    """The derived tables of a home as a throw-away copy.

    Heads are copied; parts are links, since a part never changes. Heads first: a part that they
    list outlives the next two commits of whoever else is at work.
    """
    with tempfile.TemporaryDirectory(prefix="memory-assets-dry-run-") as folder:
        copy = Path(folder)
        heads = sorted(derived.glob("*.json"))
        for head in heads:
            (copy / head.name).write_bytes(head.read_bytes())
        tables = DerivedTables(copy)
        for head in heads:
            for parts in tables.head(head.stem).values():
                for part in parts:
                    link = copy / part.path
                    link.parent.mkdir(parents=True, exist_ok=True)
                    if not link.is_symlink():
                        link.symlink_to(derived / part.path)
        yield tables


def _place(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "tenant_id": row["tenant_id"],
        "session_id": row["session_id"],
        "decision_seq": row["decision_seq"],
        "ref": format_ref(row["decision_seq"]),
    }


def _why(row: Mapping[str, Any]) -> dict[str, str]:
    code = row["refusal_code"] if row["route"] == "refused" else row["route"]
    reason = row["refusal_reason"] if row["route"] == "refused" else in_words(code)
    return {"code": code, "reason": reason}
