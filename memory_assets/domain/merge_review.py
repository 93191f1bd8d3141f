"""A person's verdict on a pair of memories: a label for calibration, and a memory of its own."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Literal

import msgspec

from memory_assets.domain.merge import pair_key

PairVerdict = Literal["same", "different", "contains", "conflicts"]
Text = Annotated[str, msgspec.Meta(min_length=1)]


class PairReview(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One line of the append-only file of reviewed pairs; it holds no content."""

    tenant_id: Text
    memory_a: Text
    memory_b: Text
    verdict: PairVerdict
    reviewer: Text
    decided_at: datetime
    content_a: Text
    """Content hash of the first memory as it was seen; published content never changes."""
    content_b: Text
    cosine: float | None = None
    space_id: str = ""
    rule_version: str = ""
    reason: str = ""

    @property
    def pair(self) -> tuple[str, str]:
        """The pair, unordered."""
        return pair_key(self.memory_a, self.memory_b)


class PairVerdicts:
    """The verdicts in force: of several on one pair the latest counts."""

    def __init__(self, reviews: Iterable[PairReview]) -> None:
        self._found: dict[tuple[str, tuple[str, str]], PairReview] = {}
        for review in sorted(reviews, key=lambda r: r.decided_at):
            self._found[review.tenant_id, review.pair] = review

    def of(self, tenant_id: str, a: str, b: str) -> PairReview | None:
        """The verdict on a pair, if there is one."""
        return self._found.get((tenant_id, pair_key(a, b)))

    def are_different(self, tenant_id: str, a: str, b: str) -> bool:
        """Whether a person said that the two are no duplicates: remembered for good."""
        found = self.of(tenant_id, a, b)
        return found is not None and found.verdict != "same"

    def of_tenant(self, tenant_id: str) -> list[PairReview]:
        """Every verdict in force of a tenant, in the order of its pairs."""
        return [r for (t, _), r in sorted(self._found.items()) if t == tenant_id]

    def tenants(self) -> list[str]:
        """Tenants with a verdict."""
        return sorted({t for t, _ in self._found})
