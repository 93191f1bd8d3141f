"""What the next generation holds: the published registry, the pending intents, the promotions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from memory_assets.domain.allocations import Allocations, given_ids
from memory_assets.domain.intents import (
    Detach,
    IntentOutcome,
    IntentState,
    MemoryKey,
    Recorded,
    RefusedIntent,
    RemovalReason,
    apply_intents,
)
from memory_assets.domain.promotion import Accepted, PromotionKey, PromotionPlan, plan_promotions
from memory_assets.domain.schemas import (
    CORROBORATIONS,
    MEMORIES,
    PROMOTION_KEY,
    TABLES,
    TOMBSTONES,
    USES,
)
from memory_assets.steps.registry.view import RegistryView, frame_of_keys
from memory_assets.steps.tables.frames import frame_of
from memory_assets.storage.generations import Generation

_ID = ["tenant_id", "memory_id"]


@dataclass(frozen=True, slots=True)
class Plan:
    """The next generation's registry, and how it differs from the published one."""

    before: RegistryView
    after: RegistryView
    new: Mapping[str, pl.DataFrame]
    """Rows that are new, by table; empty tables are left out."""
    counters: dict[str, int]
    promotions: PromotionPlan
    intents_through: int
    intents_applied: int = 0
    refused: tuple[RefusedIntent, ...] = ()
    removed: Mapping[MemoryKey, RemovalReason] = field(default_factory=dict)
    """Memories that must be gone from every file once this is published."""
    rewrites: bool = False
    """Whether something is removed, so that every file is written anew without it."""

    @property
    def empty(self) -> bool:
        """Whether the registry would stay as it is and nothing waits to be noted."""
        return not (self.new or self.rewrites or self.intents_applied or self.refused)

    @property
    def comparable(self) -> RegistryView:
        """The published registry, as far as it must be found again in the next one."""
        return self.before.without(self.removed.keys())


def plan_generation(
    current: Generation,
    before: RegistryView,
    accepted: Sequence[Accepted],
    intents: Sequence[Recorded],
    uses: pl.DataFrame | None = None,
    allocations: Allocations | None = None,
) -> Plan:
    """The plan for the generation after ``current``; pure, so it can be shown without publishing.

    Intents come first, in the order of their numbers: an import must precede promotions, and what
    a removal buries must not be promoted in the same breath.
    """
    number = current.number + 1
    outcome, counters = IntentOutcome(), dict(current.counters)
    if intents:
        state = _state(before, counters, intents)
        outcome, counters = apply_intents(intents, state, generation=number), state.counters
    rows = {name: _frame(name, found) for name, found in outcome.rows.items() if found}
    tombstones = _tombstones(before, outcome, number)
    if tombstones:
        rows[TOMBSTONES.name] = _frame(TOMBSTONES.name, tombstones)
    middle = before.without(outcome.removed.keys()).without_keys(outcome.buried_keys.keys())
    middle = middle.with_rows(rows)
    given = given_ids(allocations or {})
    promotions = plan_promotions(accepted, middle.known(counters), generation=number, given=given)
    after = middle
    if uses is not None and uses.height:
        # Nothing about a memory that goes in the same breath.
        uses = uses.join(middle.memories.select(_ID), on=_ID, how="semi")
        after = after.with_rows({USES.name: uses})
        rows |= {USES.name: uses} if uses.height else {}
    for name, found in (
        (MEMORIES.name, promotions.memories),
        (CORROBORATIONS.name, promotions.corroborations),
    ):
        if found:
            frame = _frame(name, found)
            after = after.with_rows({name: frame})
            rows[name] = pl.concat([rows[name], frame]) if name in rows else frame
    return Plan(
        before,
        after,
        rows,
        promotions.counters,
        promotions,
        max(outcome.through, current.intents_through),
        outcome.applied,
        tuple(outcome.refused),
        outcome.removed,
        bool(outcome.removed or outcome.buried_keys),
    )


def _state(
    before: RegistryView, counters: Mapping[str, int], intents: Sequence[Recorded]
) -> IntentState:
    memories = before.memories
    own = memories.filter(pl.col("origin") != "imported")
    tiers = before.tiers.sort("generation", maintain_order=True).unique(_ID, keep="last")
    return IntentState(
        scopes={(t, m): s for t, m, s in memories.select(*_ID, "scope").iter_rows()},
        replaced=before.replaced(),
        retired=set(before.retirements.select(_ID).rows()),
        tiers={(t, m): tier for t, m, tier in tiers.select(*_ID, "tier").iter_rows()},
        buried=set(before.tombstones.drop_nulls("memory_id").select(_ID).rows()),
        settled=set(before.settled_keys().select(PROMOTION_KEY).rows()),
        counters=dict(counters),
        holders={
            (t, s, n, f): (t, m)
            for t, s, n, f, m in memories.select(*PROMOTION_KEY, "memory_id").iter_rows()
        },
        promoting=set(own["tenant_id"].unique().to_list()),
        **_detachable(before, [r.intent for r in intents if isinstance(r.intent, Detach)]),
    )


def _detachable(before: RegistryView, wanted: Sequence[Detach]) -> dict[str, Any]:
    """The corroborations that are to be detached, and the owners of what they corroborate."""
    if not wanted:
        return {}
    keys = frame_of_keys({(i.tenant_id, i.session_id, i.decision_seq, i.fact_no) for i in wanted})
    rows = before.corroborations.join(keys, on=PROMOTION_KEY, how="semi")
    owners = before.memories.join(rows, on=_ID, how="semi")
    return {
        "corroborated": {tuple(r[k] for k in PROMOTION_KEY): r for r in rows.to_dicts()},
        "owners": {(r["tenant_id"], r["memory_id"]): r for r in owners.to_dicts()},
    }


def _tombstones(
    before: RegistryView, outcome: IntentOutcome, generation: int
) -> list[dict[str, Any]]:
    """One row per promotion key of what goes: memories, their corroborations, and named keys."""
    buried: dict[PromotionKey, tuple[str | None, RemovalReason]] = {}
    if outcome.removed:
        gone = pl.DataFrame(
            list(outcome.removed), schema=dict.fromkeys(_ID, pl.String), orient="row"
        )
        for frame in (before.memories, before.corroborations):
            held = frame.join(gone, on=_ID, how="semi").select(*PROMOTION_KEY, "memory_id")
            for tenant, session, seq, fact, memory in held.iter_rows():
                reason = outcome.removed[tenant, memory]
                buried[tenant, session, seq, fact] = (memory, reason)
    for key, reason in outcome.buried_keys.items():
        buried.setdefault(key, (None, reason))
    already = set(before.tombstones.select(PROMOTION_KEY).rows())
    return [
        {
            **dict(zip(PROMOTION_KEY, key, strict=True)),
            "memory_id": memory,
            "generation": generation,
            "reason": reason,
        }
        for key, (memory, reason) in sorted(buried.items())
        if key not in already
    ]


def _frame(table: str, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    spec = TABLES[table]
    names = spec.names()
    return frame_of(spec, [tuple(r[c] for c in names) for r in rows])
