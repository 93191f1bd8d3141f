"""Which decision became which memory, on record apart from the registry: content-free lines.

The registry itself can be made again from ledgers, review decisions and intents, but not the ids
that it gave out: they depend on which night saw which session first. With these lines it gets the
same ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

import msgspec

from memory_assets.domain.keys import cited_memories, content_sha256, duplicate_key
from memory_assets.domain.promotion import (
    Accepted,
    CorroborationKind,
    Evidence,
    Given,
    PromotionKey,
    promotion_key,
)

Kind = Literal["memory", "equal", "reuse", "duplicate", "buried"]
Origin = Literal["reviewed", "edited", "automatic", "extracted", "manual", "imported"]


class Allocation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a promotion key stands for: a memory, a corroboration of one, or nothing ever again."""

    tenant_id: str
    session_id: str
    decision_seq: int
    fact_no: int = 0
    kind: Kind
    memory_id: str | None = None
    origin: Origin | None = None
    """Of a memory."""
    verdict_by: str = ""
    cosine: float | None = None
    space_id: str | None = None
    guards: str | None = None
    rule_version: str = ""
    """The evidence of a corroboration."""
    reason: str = ""
    """Why a key is buried."""

    @property
    def key(self) -> PromotionKey:
        """The promotion key."""
        return (self.tenant_id, self.session_id, self.decision_seq, self.fact_no)


_ENDED = "not-in-force"
"""The one refusal that came later; a schema choice was never promoted, and is not now."""
_ROLES: Final[dict[Kind, CorroborationKind | None]] = {
    "memory": None,
    "equal": "equal",
    "reuse": "reuse",
    "duplicate": "duplicate",
    "buried": None,
}
Allocations = Mapping[PromotionKey, Allocation]


def in_force(lines: Iterable[Allocation]) -> dict[PromotionKey, Allocation]:
    """For each key its last line: what was buried stays buried."""
    found: dict[PromotionKey, Allocation] = {}
    for line in lines:
        if line.key not in found or found[line.key].kind != "buried":
            found[line.key] = line
    return found


def given_ids(allocations: Allocations) -> dict[PromotionKey, Given]:
    """The ids and roles that promotion must keep; those of buried memories are never used again."""
    return {
        key: (line.memory_id, _ROLES[line.kind])
        for key, line in allocations.items()
        if line.memory_id is not None
    }


def as_recorded(
    accepted: Sequence[Accepted], decisions: Iterable[Mapping[str, Any]], allocations: Allocations
) -> list[Accepted]:
    """The accepted decisions as they were when they were promoted, by the record.

    A decision on record is accepted again under the verdict of that time, though a later withdrawal
    would not accept it now: published memories are never dropped silently. One that is buried, or
    was edited and whose edit is gone, is not made up.
    """
    waiting = {k for k, a in allocations.items() if a.kind != "buried"}
    found: list[Accepted] = []
    for item in accepted:
        known = allocations.get(promotion_key(item.row))
        waiting.discard(promotion_key(item.row))
        found.append(_as_then(item, known) if known else item)
    for row in decisions:
        key = promotion_key(row)
        if key in waiting and allocations[key].origin != "edited":
            known = allocations[key]
            ended = row["refusal_code"] == _ENDED
            then = _in_force_again(row) if ended else row
            found.append(_as_then(Accepted(then, known.origin or "reviewed", ""), known))
    return found


def _in_force_again(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row as it was before its decision ended: what the replay leaves out is filled in."""
    content = {n: row[n] for n in ("type", "subject", "detail", "rationale", "question_context")}
    return {
        **row,
        "refusal_code": None,
        "refusal_reason": None,
        "duplicate_key": duplicate_key(row["subject"], row["detail"]),
        "content_sha256": content_sha256(**content, tables=(), concepts=row["concepts"]),
        "cites": cited_memories(row["rationale"]),
    }


def missing(allocations: Allocations, present: Collection[PromotionKey]) -> list[Allocation]:
    """The lines that a rebuilt registry does not answer for, in the order of their keys."""
    return [
        allocations[key]
        for key in sorted(allocations.keys() - set(present))
        if allocations[key].kind != "buried"
    ]


def _as_then(item: Accepted, known: Allocation) -> Accepted:
    by = known.verdict_by or item.verdict_by
    if known.kind == "memory":
        return replace(item, origin=known.origin or item.origin, verdict_by=by)
    evidence = Evidence(known.cosine, known.space_id, known.guards, known.rule_version)
    return replace(item, verdict_by=by, evidence=evidence)
