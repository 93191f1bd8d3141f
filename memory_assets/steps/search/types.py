"""What a search is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memory_assets.domain.ranking import TERMS, Calibration, Weights
from memory_assets.domain.visibility import Principal

DEFAULT_K = 10
MAX_K = 1_000
CONTENT = (
    "subject",
    "detail",
    "rationale",
    "question_context",
    "concepts",
    "tables",
    "decided_at",
    "session_id",
    "user_id",
    "client_id",
    "audience",
)


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A question to the registry, on somebody's behalf."""

    query: str
    principal: Principal
    now: datetime
    """Ages are counted from here."""
    tenants: tuple[str, ...] = ()
    """Where to search; the principal's own tenant when empty."""
    k: int = DEFAULT_K
    tier: str | None = None
    user: str | None = None
    client: str | None = None
    session: str | None = None
    """A session of the (one) tenant: what it decided already is left out."""
    as_of: datetime | int | None = None
    """A time, or a generation's number; the newest generation when None."""
    explain: bool = False
    path: str = "search"
    """The read path for which access is judged; ``evaluate`` for measurements."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One memory that was found, resolved in the registry of the generation searched."""

    tenant_id: str
    memory_id: str
    tier: str
    score: float
    terms: Mapping[str, float]
    """cosine, text, recency, access: each in [0, 1], before its weight."""
    content: Mapping[str, Any]
    supersedes: tuple[str, ...] = ()
    """Memories that this one replaced."""
    uses: int = 0
    cosine: float | None = None
    """Raw cosine; None without a vector on either side."""
    bm25: float | None = None
    ranks: Mapping[str, int | None] = field(default_factory=dict)
    """Place in each leg (vector, text, recency, access), None where it was not found there."""

    def to_dict(self, *, explain: bool = False, degraded: bool = False) -> dict[str, Any]:
        """The hit as ``--json`` prints it."""
        found: dict[str, Any] = {
            "tenant_id": self.tenant_id,
            "memory_id": self.memory_id,
            "subject": self.content["subject"],
            "detail": self.content["detail"],
            "score": round(self.score, 6),
            "scores": {t: round(self.terms[t], 6) for t in TERMS},
            "tier": self.tier,
            **{k: _plain(v) for k, v in self.content.items() if k not in ("subject", "detail")},
            "uses": self.uses,
            "supersedes": list(self.supersedes),
            "degraded": degraded,
        }
        if explain:
            found["raw"] = {"cosine": self.cosine, "bm25": self.bm25}
            found["ranks"] = dict(self.ranks)
        return found


@dataclass(frozen=True, slots=True)
class Dropped:
    """A memory that would have been found, and why it was not."""

    tenant_id: str
    memory_id: str
    code: str
    """unknown, superseded, retired, not-reusable, schema-name, decided-in-session or hidden."""
    reason: str

    def to_dict(self) -> dict[str, str]:
        """The drop as ``--json`` prints it."""
        return {
            "tenant_id": self.tenant_id,
            "memory_id": self.memory_id,
            "code": self.code,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits, best first, and how they came about."""

    hits: tuple[Hit, ...]
    dropped: tuple[Dropped, ...]
    generation: int
    space_id: str | None
    weights: Weights
    calibration: Calibration
    considered: int
    """Memories that the principal could have found."""
    exact: bool
    """Whether no other memory can score higher than the last hit."""
    degraded: str | None = None
    """Why vectors took no part; None when they did."""
    notices: tuple[str, ...] = ()
    """What a person should know or run."""

    def to_list(self, *, explain: bool = False) -> list[dict[str, Any]]:
        """The hits as ``--json`` prints them."""
        return [h.to_dict(explain=explain, degraded=self.degraded is not None) for h in self.hits]

    def to_dict(self) -> dict[str, Any]:
        """Everything, as ``--explain --json`` prints it."""
        return {
            "hits": self.to_list(explain=True),
            "dropped": [d.to_dict() for d in self.dropped],
            "generation": self.generation,
            "space_id": self.space_id,
            "weights": {t: self.weights.of(t) for t in TERMS},
            "calibration": self.calibration.to_dict(),
            "considered": self.considered,
            "exact": self.exact,
            "degraded": self.degraded,
            "notices": list(self.notices),
        }


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
