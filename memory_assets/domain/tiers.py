"""The tier rules: core in the prompt, recall at hand, archival for ever. Pure, and exact at edges.

An access is a recorded use or a corroboration. One place to extend: a rule is one function of
:data:`RULES` that answers with a change or None; the first one that answers decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from memory_assets.domain.intents import Tier

RULES_VERSION: Final = "tiers 1"
HOT_ACCESSES: Final = 5
HOT_WINDOW: Final = timedelta(days=7)
HOT_RECENCY: Final = 0.7
RECENCY_DAYS: Final = 14.0
"""Time constant of recency in days, as in the search score."""


@dataclass(frozen=True, slots=True)
class TierRules:
    """What a tenant may set: how long a tier keeps what nobody uses."""

    core_days: int = 14
    recall_days: int = 90


@dataclass(frozen=True, slots=True)
class Activity:
    """What the rules see of one memory at one instant."""

    tier: Tier
    since: datetime
    """When it was published: before that nobody could access it."""
    last_access: datetime | None = None
    hot_accesses: int = 0
    """Accesses in the hot window, its first instant included."""
    override_until: datetime | None = None
    """An administrator's choice holds so long, whatever the rules say."""

    def idle(self, now: datetime) -> timedelta:
        """Time since it was published or last accessed; what lies in the future counts as 0."""
        seen = max(self.since, self.last_access or self.since)
        return max(now - seen, timedelta())

    def recency(self, now: datetime) -> float:
        """exp(-age / 14 days): 1 at the access, 0.37 two weeks later."""
        return math.exp(-self.idle(now) / timedelta(days=RECENCY_DAYS))


@dataclass(frozen=True, slots=True)
class Change:
    """Where a memory goes, which rule says so, and what it saw."""

    tier: Tier
    rule: str
    reason: str
    inputs: dict[str, Any]


Rule = Callable[[Activity, TierRules, datetime], tuple[Tier, str, str] | None]
"""(tier, rule name, reason), or None when the rule has nothing to say."""


def _to_core(a: Activity, rules: TierRules, now: datetime) -> tuple[Tier, str, str] | None:
    if a.tier != "recall" or a.hot_accesses < HOT_ACCESSES or not a.recency(now) > HOT_RECENCY:
        return None
    return "core", "hot", f"{a.hot_accesses} accesses in {HOT_WINDOW.days} days, and recent"


def _out_of_core(a: Activity, rules: TierRules, now: datetime) -> tuple[Tier, str, str] | None:
    if a.tier != "core" or a.idle(now) < timedelta(days=rules.core_days):
        return None
    return "recall", "cooled", f"no access for {rules.core_days} days"


def _to_archival(a: Activity, rules: TierRules, now: datetime) -> tuple[Tier, str, str] | None:
    if a.tier != "recall" or a.idle(now) < timedelta(days=rules.recall_days):
        return None
    return "archival", "idle", f"no access for {rules.recall_days} days"


def _out_of_archival(a: Activity, rules: TierRules, now: datetime) -> tuple[Tier, str, str] | None:
    recent = a.last_access is not None and now - a.last_access < timedelta(days=rules.recall_days)
    if a.tier != "archival" or not recent:
        return None
    return "recall", "accessed", "accessed again"


RULES: Final[tuple[Rule, ...]] = (_to_core, _out_of_core, _to_archival, _out_of_archival)


def next_tier(activity: Activity, rules: TierRules, now: datetime) -> Change | None:
    """The change that is due now, or None. One step at a time: archival goes by way of recall.

    An override in force ends every discussion. The time that it expires is no longer in force.
    """
    until = activity.override_until
    if until is not None and now < until:
        return None
    for rule in RULES:
        found = rule(activity, rules, now)
        if found is not None:
            tier, name, reason = found
            return Change(tier, name, reason, _inputs(activity, rules, now))
    return None


def _inputs(activity: Activity, rules: TierRules, now: datetime) -> dict[str, Any]:
    last = activity.last_access
    return {
        "at": now.isoformat(),
        "from": activity.tier,
        "accesses_7d": activity.hot_accesses,
        "last_access": last.isoformat() if last else None,
        "idle_days": round(activity.idle(now) / timedelta(days=1), 4),
        "recency": round(activity.recency(now), 4),
        "core_days": rules.core_days,
        "recall_days": rules.recall_days,
    }
