"""What becomes of a pair or a group of memories: merge, review, or leave apart.

Cosine proposes, guards decide, evidence permits: a pair merges by itself only when its texts are
equal, or when every guard passed, the subject is the same and the cosine reaches a threshold that
labelled pairs have earned. Everything else goes to a person, or stays apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

import polars as pl

from memory_assets.domain.guards import Judgement, Relation

Route = Literal["auto", "review", "ignored"]
Proposal = Literal["same", "contains", "conflicts"]
FLOOR_SHARE: Final = 0.4
"""The review floor lies this far between the mean cosine of unrelated pairs and 1."""
MemoryKey = tuple[str, str]
"""(tenant_id, memory_id)."""


@dataclass(frozen=True, slots=True)
class MergePolicy:
    """What a tenant's labels have earned in one embedding space."""

    threshold: float | None
    """Cosine from which a pair that passed every guard merges by itself; None: never."""
    floor: float
    """Cosine below which a pair of other subjects is not even shown to a person."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Where a pair goes, and as what."""

    route: Route
    proposal: Proposal | None
    """What a person is asked, or is told beside a pair that stays apart."""


def review_floor(mean_of_unrelated: float) -> float:
    """The cosine from which a pair is worth a person's time, in any space.

    Spaces differ in where unrelated texts lie (0.2 in one, 0.8 in another), so the floor is a
    share of the way from there to 1.
    """
    return mean_of_unrelated + FLOOR_SHARE * (1.0 - mean_of_unrelated)


def decide(
    relation: Relation,
    cosine: float,
    policy: MergePolicy,
    *,
    same_subject: bool,
    found_by_subject: bool = False,
) -> Decision:
    """The route of a pair.

    A guard's mismatch leaves the pair apart whatever the cosine, and lists it as a conflict when
    the subject is the same. Pairs ``found_by_subject`` go to review below the floor too: the
    vectors of four definitions of one acronym may have nothing in common.
    """
    if relation == "equal":
        return Decision("auto", "same")
    if relation == "different":
        return Decision("ignored", "conflicts" if same_subject else None)
    earned = policy.threshold is not None and cosine >= policy.threshold
    if relation == "alike" and same_subject and earned:
        return Decision("auto", "same")
    if cosine < policy.floor and not found_by_subject:
        return Decision("ignored", None)
    return Decision("review", "contains" if relation in ("contains", "contained") else "same")


def stands_apart() -> pl.Expr:
    """Rows of pairs that ``decide`` passes over whatever their cosine: nearly all there are."""
    return (pl.col("relation") == "different") & ~pl.col("same_subject")


def merges_alone(threshold: float) -> pl.Expr:
    """Rows of pairs that ``decide`` merges without a person, once ``threshold`` is earned."""
    alike = (pl.col("relation") == "alike") & pl.col("same_subject")
    return (pl.col("relation") == "equal") | (alike & (pl.col("cosine") >= threshold))


@dataclass(frozen=True, slots=True)
class Member:
    """One memory as the survivor rules see it."""

    memory_id: str
    reviewed: bool
    """A person accepted or wrote it."""
    corroborations: int
    completeness: int
    """Characters of content that it holds."""
    decided_at: datetime


SURVIVOR_RULES: Final = (
    "reviewed before automatic",
    "seen more often",
    "more complete",
    "older",
    "lower id",
)


def survivor(members: Iterable[Member]) -> Member:
    """The member that stays: reviewed first, then corroborated more, fuller, older, lower id.

    A total order: the same members give the same survivor in any order. Its content never changes.
    """
    return min(members, key=_rank)


def _rank(member: Member) -> tuple[bool, int, int, datetime, int, str]:
    number = member.memory_id.rpartition("-")[2]
    return (
        not member.reviewed,
        -member.corroborations,
        -member.completeness,
        member.decided_at,
        int(number) if number.isdigit() else 0,
        member.memory_id,
    )


@dataclass(frozen=True, slots=True)
class Supersession:
    """A supersession that publication is asked to record: B replaces A, or no longer does."""

    tenant_id: str
    memory_id: str
    superseded_by: str
    decided_by: str
    retracted: bool = False
    evidence: Mapping[str, Any] = field(default_factory=dict)


def evidence(
    *,
    cosine: float | None,
    space_id: str,
    judgement: Judgement,
    threshold: float | None,
) -> dict[str, Any]:
    """What a merge rests on, as its row keeps it; holds differing tokens, so it is content."""
    return {
        "cosine": None if cosine is None else round(cosine, 6),
        "space_id": space_id,
        "threshold": threshold,
        **judgement.to_dict(),
    }


def pair_key(x: str, y: str) -> tuple[str, str]:
    """The unordered pair, as a key."""
    return (x, y) if x <= y else (y, x)
