"""The tier rules at their exact edges."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.domain.tiers import Activity, TierRules, next_tier

NOW = datetime(2026, 3, 31, 3, 30, tzinfo=UTC)
OLD = NOW - timedelta(days=400)
TICK = timedelta(microseconds=1)
USUAL = TierRules()


def due(
    tier: str, ago: timedelta | None, hot: int = 0, rules: TierRules = USUAL, **more: object
) -> str | None:
    """The tier that a memory goes to whose last access was so long ago; None: it stays."""
    last = None if ago is None else NOW - ago
    change = next_tier(Activity(tier, OLD, last, hot, **more), rules, NOW)  # type: ignore[arg-type]
    return change.tier if change else None


def test_five_accesses_lift_to_core_and_four_do_not() -> None:
    """The count is compared with at least."""
    assert due("recall", timedelta(days=1), hot=5) == "core"
    assert due("recall", timedelta(days=1), hot=4) is None


def test_recency_must_be_above_not_at_its_limit() -> None:
    """exp(-age/14 d) > 0.7, so the last access is younger than 14 ln(1/0.7) days: 4.99."""
    edge = timedelta(days=14 * math.log(1 / 0.7))
    assert due("recall", edge - timedelta(seconds=1), hot=9) == "core"
    assert due("recall", edge + timedelta(seconds=1), hot=9) is None


def test_core_cools_after_fourteen_days_to_the_instant() -> None:
    """At fourteen days, not a microsecond before."""
    assert due("core", timedelta(days=14) - TICK) is None
    assert due("core", timedelta(days=14)) == "recall"


def test_recall_is_archived_after_ninety_days_to_the_instant() -> None:
    """At ninety days, not a microsecond before."""
    assert due("recall", timedelta(days=90) - TICK) is None
    assert due("recall", timedelta(days=90)) == "archival"


def test_an_access_lifts_out_of_the_archive() -> None:
    """A recent one does; an old one, or none, does not."""
    assert due("archival", timedelta(0)) == "recall"
    assert due("archival", timedelta(days=90) - TICK) == "recall"
    assert due("archival", timedelta(days=90)) is None
    assert due("archival", None) is None


def test_the_archive_keeps_for_ever() -> None:
    """No age ends it."""
    assert next_tier(Activity("archival", NOW - timedelta(days=40_000)), USUAL, NOW) is None


def test_a_new_memory_counts_from_its_decision() -> None:
    """Without an access its own time is what ages."""
    young = Activity("recall", NOW - timedelta(days=90) + TICK)
    assert next_tier(young, USUAL, NOW) is None
    assert next_tier(Activity("recall", NOW - timedelta(days=90)), USUAL, NOW) is not None


@pytest.mark.parametrize("tier", ["core", "recall", "archival"])
def test_an_override_holds_until_it_expires(tier: str) -> None:
    """While it is in force no rule moves the memory; at its end they do again."""
    ago = timedelta(days=1) if tier == "archival" else timedelta(days=100)
    assert due(tier, ago, override_until=NOW + TICK) is None
    assert due(tier, ago, override_until=NOW) is not None


def test_tenants_set_their_own_days() -> None:
    """Retention replaces both limits."""
    rules = TierRules(core_days=2, recall_days=3)
    assert due("core", timedelta(days=2), rules=rules) == "recall"
    assert due("recall", timedelta(days=3), rules=rules) == "archival"
    assert due("archival", timedelta(days=3), rules=rules) is None


def test_a_change_says_what_the_rule_saw() -> None:
    """Rule, reason and figures are on record, ages in days."""
    change = next_tier(Activity("recall", OLD, NOW - timedelta(days=1), 6), USUAL, NOW)
    assert change is not None
    assert (change.rule, change.inputs["accesses_7d"]) == ("hot", 6)
    assert change.inputs["idle_days"] == 1.0
    assert change.inputs["recency"] == pytest.approx(math.exp(-1 / 14), abs=1e-4)


@given(
    st.sampled_from(["core", "recall", "archival"]),
    st.one_of(st.none(), st.timedeltas(timedelta(days=-30), timedelta(days=500))),
    st.integers(0, 10),
)
def test_rules_move_one_step_and_come_to_rest(tier: str, ago: timedelta | None, hot: int) -> None:
    """No memory jumps between core and archive, and at one instant no two rules chase it around."""
    last = None if ago is None else NOW - ago
    hot = hot if ago is not None and ago <= timedelta(days=7) else 0
    seen = [tier]
    while (change := next_tier(Activity(seen[-1], OLD, last, hot), USUAL, NOW)) is not None:  # type: ignore[arg-type]
        assert {seen[-1], change.tier} != {"core", "archival"}
        assert change.tier not in seen
        seen.append(change.tier)
