"""Accepted decisions → new memories and corroborations: pure, deterministic, idempotent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from memory_assets.domain.events import REUSABLE_TYPES
from memory_assets.domain.keys import memory_id, memory_number

RULE_VERSION: Final = "equal-v1"
Row = Mapping[str, Any]
PromotionKey = tuple[str, str, int, int]
"""(tenant_id, session_id, decision_seq, fact_no)."""
ContentKey = tuple[str, str, str]
"""(tenant_id, scope, duplicate_key): equal content, visible to the same people."""
CorroborationKind = Literal["equal", "reuse", "duplicate"]
Given = tuple[str, CorroborationKind | None]
"""On record from before: the memory's id, and how a corroboration came about (None: the memory)."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The match on which a corroboration by rule rests."""

    cosine: float | None
    space_id: str | None
    guards: str | None
    """JSON of the guard verdicts."""
    rule_version: str


@dataclass(frozen=True, slots=True)
class Accepted:
    """One decision that somebody, or the tenant's policy, accepted."""

    row: Row
    """A row of the ``decisions`` table."""
    origin: Literal["reviewed", "edited", "automatic", "extracted", "manual", "imported"]
    verdict_by: str
    duplicate_of: str | None = None
    """The memory that the reviewer, or a proven rule, named as its equal."""
    edited_from: str | None = None
    evidence: Evidence | None = None
    """Why the rule took it for a duplicate; None when a person named it."""


@dataclass(frozen=True, slots=True)
class Known:
    """What the registry holds already, as far as promotion must know it."""

    settled: frozenset[PromotionKey]
    """Keys of memories, corroborations and tombstones: never promoted again."""
    by_content: Mapping[ContentKey, str]
    """Equal content → the active memory that answers for it."""
    survivors: Mapping[tuple[str, str], str]
    """(tenant_id, memory_id) → the active memory that replaced it, or itself."""
    counters: Mapping[str, int]
    """The last memory number allocated per tenant."""


@dataclass(frozen=True, slots=True)
class PromotionPlan:
    """What the next generation adds."""

    memories: tuple[dict[str, Any], ...]
    corroborations: tuple[dict[str, Any], ...]
    counters: dict[str, int] = field(default_factory=dict)
    already_settled: int = 0
    barred: tuple[PromotionKey, ...] = ()
    """Accepted all the same, but never memory: see :func:`may_become_memory`."""

    @property
    def empty(self) -> bool:
        """Whether nothing would be added."""
        return not self.memories and not self.corroborations


def promotion_key(row: Row) -> PromotionKey:
    """The key on which promotion is idempotent."""
    return (row["tenant_id"], row["session_id"], row["decision_seq"], row["fact_no"])


def may_become_memory(row: Row) -> bool:
    """The core rule: a clarified concept that the preview did not refuse, and nothing else.

    It stands by itself. Whoever accepted a table choice, by whatever way round preview and review,
    gets no memory of it.
    """
    return row["type"] in REUSABLE_TYPES and row.get("refusal_code") is None


def order_key(row: Row) -> tuple[str, str, bool, int, int]:
    """Sort key of promotions: ledger rows before companion rows, each by number.

    New ids are given out in this order, so the order of files cannot show in them.
    """
    seq = row["decision_seq"]
    return (row["tenant_id"], row["session_id"], seq < 0, abs(seq), row["fact_no"])


def plan_promotions(
    accepted: Sequence[Accepted],
    known: Known,
    *,
    generation: int,
    given: Mapping[PromotionKey, Given] | None = None,
) -> PromotionPlan:
    """The rows that the generation adds for the accepted decisions.

    What may never become memory, and a decision whose key is settled, add nothing. One whose
    content equals an active memory of the same tenant and scope (or one accepted just before it)
    corroborates that memory, in its own words. Every other one becomes a memory with the tenant's
    next number. What is ``given`` (a rebuild) keeps its id and its role, and comes first, so that
    nothing new takes its place.
    """
    fixed = given or {}
    counters = dict(known.counters)
    for (tenant, *_), (memory, _) in fixed.items():
        counters[tenant] = max(counters.get(tenant, 0), memory_number(memory))
    by_content = dict(known.by_content)
    settled = set(known.settled)
    memories: list[dict[str, Any]] = []
    corroborations: list[dict[str, Any]] = []
    barred: list[PromotionKey] = []
    skipped = 0

    def place(item: Accepted) -> tuple[bool, bool, tuple[str, str, bool, int, int]]:
        own = fixed.get(promotion_key(item.row))
        return (own is None, own is not None and own[1] is not None, order_key(item.row))

    for item in sorted(accepted, key=place):
        row = item.row
        key = promotion_key(row)
        if not may_become_memory(row):
            barred.append(key)
            continue
        if key in settled:
            skipped += 1
            continue
        settled.add(key)
        tenant = row["tenant_id"]
        content: ContentKey = (tenant, row["scope"], row["duplicate_key"])
        own = fixed.get(key)
        if own is None:
            target, kind = _existing(item, content, by_content, known.survivors)
        else:
            target, kind = (own[0] if own[1] else None), own[1] or "equal"
        if target is not None:
            corroborations.append(_corroboration(item, target, kind, generation))
            continue
        if own is None:
            counters[tenant] = counters.get(tenant, 0) + 1
        new_id = own[0] if own else memory_id(counters[tenant])
        by_content[content] = new_id
        memories.append(_memory(item, new_id, generation))
    return PromotionPlan(tuple(memories), tuple(corroborations), counters, skipped, tuple(barred))


def _existing(
    item: Accepted,
    content: ContentKey,
    by_content: Mapping[ContentKey, str],
    survivors: Mapping[tuple[str, str], str],
) -> tuple[str | None, CorroborationKind]:
    tenant = item.row["tenant_id"]
    by_rule = item.evidence is not None
    if item.duplicate_of is not None and (not by_rule or (tenant, item.duplicate_of) in survivors):
        return survivors.get((tenant, item.duplicate_of), item.duplicate_of), "duplicate"
    equal = by_content.get(content)
    if equal is None:
        return None, "equal"
    cited = {survivors.get((tenant, c), c) for c in item.row["cites"]}
    return equal, "reuse" if equal in cited else "equal"


def _memory(item: Accepted, new_id: str, generation: int) -> dict[str, Any]:
    row = item.row
    copied = (
        "tenant_id session_id decision_seq fact_no decided_at type subject detail rationale "
        "question_context concepts user_id client_id audience source metadata duplicate_key scope"
    )
    return {
        **{name: row[name] for name in copied.split()},
        "memory_id": new_id,
        "promoted_generation": generation,
        # Tables are this question's schema choices: never part of reusable knowledge.
        "tables": [],
        "content_sha256": row["content_sha256"],
        "origin": item.origin,
        "edited_from": item.edited_from,
        "verdict_by": item.verdict_by,
    }


def _corroboration(
    item: Accepted, target: str, kind: CorroborationKind, generation: int
) -> dict[str, Any]:
    row = item.row
    found = item.evidence or Evidence(
        None, None, None, RULE_VERSION if kind != "duplicate" else "reviewer"
    )
    copied = (
        "tenant_id session_id decision_seq fact_no decided_at type subject detail rationale "
        "question_context tables concepts content_sha256 user_id client_id audience source metadata"
    )
    return {
        **{name: row[name] for name in copied.split()},
        "memory_id": target,
        "kind": kind,
        "generation": generation,
        "cosine": found.cosine,
        "space_id": found.space_id,
        "guards": found.guards,
        "rule_version": found.rule_version,
        "verdict_by": item.verdict_by,
    }


def replacements(supersessions: Iterable[Row]) -> dict[tuple[str, str], str]:
    """For each (tenant_id, memory_id) that is superseded now, the memory that replaced it.

    The rows come in the order of their generations; a retraction undoes its pair.
    """
    replaced: dict[tuple[str, str], str] = {}
    for row in supersessions:
        key = (row["tenant_id"], row["memory_id"])
        if not row["retracted"]:
            replaced[key] = row["superseded_by"]
        elif replaced.get(key) == row["superseded_by"]:
            del replaced[key]
    return replaced


def survivors_of(
    memory_ids: Iterable[tuple[str, str]], replaced: Mapping[tuple[str, str], str]
) -> dict[tuple[str, str], str]:
    """For each (tenant_id, memory_id) the memory that answers for it now.

    Chains are followed to their end; a circle (which no intent can make) ends where it would close.
    """
    found: dict[tuple[str, str], str] = {}
    for tenant, start in memory_ids:
        at, seen = start, {start}
        while (after := replaced.get((tenant, at))) is not None and after not in seen:
            at = after
            seen.add(at)
        found[tenant, start] = at
    return found
