"""The candidates that wait for a reviewer, as a table that is replaced whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from memory_assets.domain.schemas import CANDIDATES
from memory_assets.steps.promotion.consolidate import Assessment
from memory_assets.storage.parts import DerivedTables

GROUP: Final = "candidate_memories"


@dataclass(frozen=True, slots=True)
class CandidatesResult:
    """Where clarifications stand, counted."""

    clarifications: int
    candidates: int
    accepted: int
    settled: int
    declined: int
    left_out: dict[str, int]
    refused_reviews: int

    def to_metadata(self) -> dict[str, Any]:
        """Counts for the run's metadata; no content."""
        return {
            "clarifications": self.clarifications,
            "candidates": self.candidates,
            "accepted": self.accepted,
            "settled": self.settled,
            "declined": self.declined,
            "refused_review_decisions": self.refused_reviews,
            **{f"left_out_{code}": n for code, n in self.left_out.items()},
        }


def derive_candidates(derived: DerivedTables, assessment: Assessment) -> CandidatesResult:
    """The candidates table, replaced whole; unchanged candidates leave the files as they are."""
    waiting = assessment.candidates.select(CANDIDATES.names())
    part = derived.parts.write(CANDIDATES, waiting, "candidates")
    head = {CANDIDATES.name: [part] if part else []}
    if derived.head(GROUP) != head:
        derived.commit(GROUP, head)
    routes = assessment.routes
    return CandidatesResult(
        clarifications=routes.height,
        candidates=waiting.height,
        accepted=assessment.count("accepted", "automatic"),
        settled=assessment.count("settled"),
        declined=assessment.count("declined"),
        left_out=assessment.reasons(),
        refused_reviews=len(assessment.refused_reviews),
    )
