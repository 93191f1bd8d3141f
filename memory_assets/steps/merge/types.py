"""What the use cases of the merge answer, and how a merge becomes an intent."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memory_assets.domain.intents import Intent, Retract, Supersede
from memory_assets.domain.merge import Supersession
from memory_assets.domain.review import reviewer_refusal
from memory_assets.errors import UsageError
from memory_assets.steps.merge.calibrate import TenantCalibration
from memory_assets.steps.merge.candidates import PairsResult
from memory_assets.steps.merge.proposals import ProposeResult

Told = Callable[[str, int, int], None]
"""Called with (what, done, total) while long work goes on."""


@dataclass(frozen=True)
class MergePlan:
    """What a plan found for some tenants."""

    pairs: PairsResult
    calibrations: tuple[TenantCalibration, ...]
    results: tuple[ProposeResult, ...]

    def to_metadata(self) -> dict[str, Any]:
        """Counts for the run's metadata; no content."""
        totals: dict[str, Any] = {}
        for result in self.results:
            for name, n in result.to_metadata().items():
                totals[name] = totals.get(name, 0) + n
        return {**self.pairs.to_metadata(), **totals}


@dataclass(frozen=True, slots=True)
class MergeNight:
    """What the nightly step of the merge did; counts only."""

    idle: bool
    """Nothing had changed since the last time, so nothing was done."""
    compared: int = 0
    """New memories that were compared with all others."""
    found: int = 0
    """Pairs that came to light."""
    groups: int = 0
    """Groups that are proposed now, whenever they were found."""
    containments: int = 0
    conflicts: int = 0
    seconds: float = field(default=0.0, compare=False)
    problem: str = ""
    """Why the step could not end: the night is published all the same, the next one tries again."""

    def to_metadata(self) -> dict[str, Any]:
        """Counts for the run's metadata; no content."""
        return {
            "idle": self.idle,
            "compared": self.compared,
            "found": self.found,
            "groups": self.groups,
            "containments": self.containments,
            "conflicts": self.conflicts,
            "seconds": round(self.seconds, 3),
            "problem": self.problem,
        }


@dataclass(frozen=True, slots=True)
class MergeChange:
    """What was asked of the next publication."""

    tenant_id: str
    supersessions: tuple[Supersession, ...]
    labels: int
    """Pairs that were noted as reviewed."""
    intents: tuple[int, ...]
    """Numbers of the intents."""
    siblings: tuple[str, ...] = ()
    """Near relatives of the replaced memories that stay active."""

    def to_dict(self) -> dict[str, Any]:
        """The change as ``--json`` prints it."""
        return {
            "tenant_id": self.tenant_id,
            "supersessions": [
                {
                    "memory_id": s.memory_id,
                    "superseded_by": s.superseded_by,
                    "retracted": s.retracted,
                    "decided_by": s.decided_by,
                }
                for s in self.supersessions
            ],
            "reviewed_pairs": self.labels,
            "intents": list(self.intents),
            "siblings": list(self.siblings),
        }


def intent_of(s: Supersession, reason: str, now: datetime) -> Intent:
    """The merge, or its undoing, as publication is asked for it."""
    kind = Retract if s.retracted else Supersede
    return kind(
        tenant_id=s.tenant_id,
        memory_id=s.memory_id,
        superseded_by=s.superseded_by,
        decided_by=s.decided_by,
        decided_at=now,
        reason=reason,
        evidence=json.dumps(s.evidence, ensure_ascii=False, sort_keys=True),
    )


def person(reviewer: str) -> str:
    """The reviewer's name.

    Raises:
        UsageError: it is empty, or an agent's.
    """
    if reviewer_refusal(reviewer) is not None:
        raise UsageError(
            f"{reviewer!r} is no reviewer: agents never merge.",
            remedy="name the person who decides with --reviewer NAME.",
        )
    return reviewer.strip()
