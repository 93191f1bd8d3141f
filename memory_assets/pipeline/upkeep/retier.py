"""Tiers, night by night: the rules' changes and administrators' overrides, as intents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec
import polars as pl

from memory_assets.domain.intents import AssignTier, Intent, Tier
from memory_assets.domain.tiers import RULES_VERSION, Activity, Change, TierRules, next_tier
from memory_assets.domain.visibility import Principal, require
from memory_assets.errors import AccessDenied, UnknownMemoryError, UsageError
from memory_assets.pipeline.review.decide import require_reviewer
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.registry.activity import active_with_accesses
from memory_assets.steps.registry.view import DEFAULT_TIER, RegistryView
from memory_assets.storage.intents import append_intents, read_intents
from memory_assets.storage.publications import note_publications, noted_publications

TIERS: Final = ("core", "recall", "archival")
_ID: Final = ["tenant_id", "memory_id"]
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class RetierResult:
    """Which tiers changed, and how the active memories lie now."""

    judged: int
    changes: tuple[tuple[str, str, Change], ...]
    """(tenant_id, memory_id, change), to be applied by the next publication."""
    by_tier: Mapping[str, int]
    """Active memories per tier as published."""
    overridden: int
    """Memories that an administrator's choice holds where they are."""

    def to_dict(self) -> dict[str, Any]:
        """The result as ``--json`` prints it."""
        return {
            "judged": self.judged,
            "by_tier": dict(self.by_tier),
            "overridden": self.overridden,
            "changes": [
                {
                    "tenant_id": tenant,
                    "memory_id": memory,
                    "tier": change.tier,
                    "rule": change.rule,
                    "reason": change.reason,
                    **change.inputs,
                }
                for tenant, memory, change in self.changes
            ],
        }

    def to_metadata(self) -> dict[str, Any]:
        """Counts for the run's metadata; no content."""
        rules = Counter(change.rule for _, _, change in self.changes)
        return {
            "judged": self.judged,
            "changes": len(self.changes),
            "overridden": self.overridden,
            **{f"tier_{tier}": self.by_tier.get(tier, 0) for tier in TIERS},
            **{f"rule_{rule}": n for rule, n in sorted(rules.items())},
        }


def due_changes(
    registry: RegistryView,
    rules_of: Callable[[str], TierRules],
    *,
    published: Mapping[int, datetime],
    now: datetime,
) -> RetierResult:
    """The changes that are due at ``now``; nothing is recorded.

    ``published`` holds the times of generations, as far as they are known.
    """
    active = active_with_accesses(registry, now=now)
    until = overrides(registry)
    rules = {t: rules_of(t) for t in active["tenant_id"].unique().to_list()}
    changes = []
    columns = [*_ID, "tier", _BORN, "last_access", "hot_accesses"]
    since = {g: _since(g, published, now) for g in active[_BORN].unique().to_list()}
    for tenant, memory, tier, born, last, hot in active.select(columns).iter_rows():
        activity = Activity(tier, since[born], last, hot, until.get((tenant, memory)))
        change = next_tier(activity, rules[tenant], now)
        if change is not None:
            changes.append((tenant, memory, change))
    counted = active["tier"].value_counts(name="n").rows()
    there = set(active.select(_ID).rows())
    held = sum(key in there and now < end for key, end in until.items())
    return RetierResult(active.height, tuple(changes), dict(sorted(counted)), held)


def overrides(registry: RegistryView) -> dict[Key, datetime]:
    """(tenant_id, memory_id) → when the override that was made last expires."""
    latest = registry.tiers.sort("generation", maintain_order=True).unique(_ID, keep="last")
    found = {}
    for tenant, memory, inputs in latest.select(*_ID, "inputs").iter_rows():
        until = msgspec.json.decode(inputs).get("until")
        if until:
            found[tenant, memory] = datetime.fromisoformat(until)
    return found


def retier(workspace: Workspace, *, now: datetime) -> RetierResult:
    """The changes that are due, recorded as intents; those that wait already are not repeated.

    The next publication applies them. A second run before that adds nothing.
    """
    result = judge_tiers(workspace, now=now)
    note_publications(workspace.home.publications, publication_times(workspace))
    intents = [
        AssignTier(
            tenant_id=tenant,
            memory_id=memory,
            tier=change.tier,
            decided_by=f"rule {RULES_VERSION}",
            decided_at=now,
            reason=f"{change.rule}: {change.reason}",
            inputs=msgspec.json.encode(change.inputs, order="deterministic").decode(),
        )
        for tenant, memory, change in result.changes
    ]
    _record(workspace, intents)
    return result


def judge_tiers(workspace: Workspace, *, now: datetime) -> RetierResult:
    """The changes that are due by the settings; nothing is recorded."""
    return due_changes(
        workspace.registry(),
        lambda tenant: tier_rules(workspace, tenant),
        published=publication_times(workspace),
        now=now,
    )


def publication_times(workspace: Workspace) -> dict[int, datetime]:
    """Generation → when it was published: those that are kept, and those noted before they went."""
    store = workspace.generations
    current, _ = store.current()
    found = dict(noted_publications(workspace.home.publications))
    for number in store.kept(current):
        generation = store.find(number)
        if generation is not None:
            found[number] = generation.published_at
    return {number: datetime.fromisoformat(at) for number, at in sorted(found.items())}


def tier_rules(workspace: Workspace, tenant_id: str) -> TierRules:
    """The tenant's figures for the rules."""
    kept = workspace.settings.tenant(tenant_id).retention
    return TierRules(kept.core_days, kept.recall_days)


def override_tier(
    workspace: Workspace,
    principal: Principal,
    tenant_id: str,
    memory_ids: Sequence[str],
    tier: Tier,
    *,
    until: datetime,
    by: str,
    reason: str,
    now: datetime,
) -> list[int]:
    """The numbers of the recorded overrides; the next publication applies them.

    Until it expires, an override holds a memory where it is, whatever the rules say. What the
    principal may see does not change with a memory's tier.

    Raises:
        AccessDenied: the persona may not override tiers, or not of this tenant; or no person does.
        UnknownMemoryError: a memory is not active.
        UsageError: the override would end before it begins.
    """
    by = require_reviewer(by, option="--by")
    may = require(principal, "list").may_override_tiers
    if not may or tenant_id not in {principal.tenant, *principal.more_tenants}:
        raise AccessDenied(
            f"{principal.persona} may not override tiers of {tenant_id!r}.",
            remedy="ask a supervisor or an administrator.",
        )
    if until <= now:
        raise UsageError("The override ends before it begins.", remedy="name a later time.")
    active = workspace.registry().active().filter(pl.col("tenant_id") == tenant_id)
    missing = [m for m in memory_ids if m not in set(active["memory_id"])]
    if missing:
        raise UnknownMemoryError(
            f"{missing[0]} is no active memory of {tenant_id!r}.",
            remedy="`memory-assets registry list` shows what there is.",
        )
    inputs = {"at": now.isoformat(), "until": until.isoformat(), "by": by}
    return append_intents(
        workspace.home.ensure(),
        [
            AssignTier(
                tenant_id=tenant_id,
                memory_id=memory,
                tier=tier,
                decided_by=f"reviewer {by}",
                decided_at=now,
                reason=f"override: {reason}" if reason else "override",
                inputs=msgspec.json.encode(inputs, order="deterministic").decode(),
                until=until,
            )
            for memory in memory_ids
        ],
        after=workspace.generations.current()[0].intents_through,
    )


def tier_history(registry: RegistryView, tenant_id: str | None = None) -> pl.DataFrame:
    """generation, core, recall, archival: memories per tier, one row per generation with a change.

    From registry rows alone: a memory is in recall from its promotion on, until a row says
    otherwise. Superseded and retired ones count no longer from the generation that ended them.
    """
    view = registry if tenant_id is None else registry.of_tenant(tenant_id)
    events = [
        *_rows(view.memories, _BORN, pl.lit(DEFAULT_TIER)),
        *_rows(view.tiers, "generation", pl.col("tier")),
        *_rows(view.retirements, "generation", pl.lit(None, pl.String)),
        *_rows(
            view.supersessions,
            "generation",
            pl.when("retracted").then(pl.lit("back")).otherwise(None),
        ),
    ]
    tiers: dict[Key, str] = {}
    gone: set[Key] = set()
    rows: dict[int, tuple[int, ...]] = {}
    for generation, tenant, memory, what in sorted(events, key=lambda e: e[0]):
        key = (tenant, memory)
        if what is None:
            gone.add(key)
        elif what == "back":
            gone.discard(key)
        else:
            tiers[key] = what
        counted = Counter(tier for k, tier in tiers.items() if k not in gone)
        rows[generation] = tuple(counted.get(tier, 0) for tier in TIERS)
    schema = dict.fromkeys(("generation", *TIERS), pl.Int64)
    return pl.DataFrame([(g, *c) for g, c in rows.items()], schema=schema, orient="row")


_BORN: Final = "promoted_generation"


def _since(generation: int, published: Mapping[int, datetime], now: datetime) -> datetime:
    """When a generation was published; one that nobody noted, not after the next one that is."""
    return next((at for number, at in sorted(published.items()) if number >= generation), now)


def _rows(frame: pl.DataFrame, generation: str, what: pl.Expr) -> list[tuple[Any, ...]]:
    return frame.select(generation, *_ID, what.alias("what")).rows()


def _record(workspace: Workspace, intents: Sequence[AssignTier]) -> None:
    current = workspace.generations.current()[0].intents_through
    pending = _tier_intents([r.intent for r in read_intents(workspace.home).after(current)])
    waiting = {(i.tenant_id, i.memory_id, i.tier) for i in pending}
    # A rule that spoke after an administrator, in the same publication, would overrule them.
    held = {(i.tenant_id, i.memory_id) for i in pending if i.until is not None}
    fresh = [
        i
        for i in intents
        if (i.tenant_id, i.memory_id, i.tier) not in waiting
        and (i.tenant_id, i.memory_id) not in held
    ]
    if fresh:
        append_intents(workspace.home.ensure(), fresh, after=current)


def _tier_intents(intents: Sequence[Intent]) -> list[AssignTier]:
    return [i for i in intents if isinstance(i, AssignTier)]
