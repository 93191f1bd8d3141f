"""Promotion over random nights: idempotent, and blind to the order in which things arrive."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memory_assets.domain.promotion import (
    Accepted,
    Known,
    PromotionKey,
    PromotionPlan,
    plan_promotions,
    promotion_key,
)
from tests.domain.test_promotion import NOTHING, accepted, decision

KEYS = st.tuples(
    st.sampled_from("tu"), st.sampled_from(["s1", "s2", "s3"]), st.integers(-3, 4).filter(bool)
)


@st.composite
def nights(draw: st.DrawFn) -> list[Accepted]:
    """Accepted decisions, each key once, with contents and scopes that often coincide."""
    items = []
    for tenant, session, seq in sorted(draw(st.sets(KEYS, max_size=14))):
        content = draw(st.sampled_from("abc"))
        scope = draw(st.sampled_from(["||tenant", "||tenant", "|c1|client"]))
        row = decision(session, seq, tenant=tenant, duplicate_key=content, scope=scope)
        items.append(accepted(row))
    return items


def _after(known: Known, plan: PromotionPlan) -> Known:
    """What the registry holds once the plan is published."""
    added = [*plan.memories, *plan.corroborations]
    return Known(
        settled=known.settled | {promotion_key(r) for r in added},
        by_content={
            **known.by_content,
            **{
                (m["tenant_id"], m["scope"], m["duplicate_key"]): m["memory_id"]
                for m in plan.memories
            },
        },
        survivors={
            **known.survivors,
            **{(m["tenant_id"], m["memory_id"]): m["memory_id"] for m in plan.memories},
        },
        counters=plan.counters,
    )


def _classes(*plans: PromotionPlan) -> set[frozenset[PromotionKey]]:
    """Which decisions ended up in one memory, whatever its id."""
    classes: dict[tuple[str, str], set[PromotionKey]] = defaultdict(set)
    for plan in plans:
        for row in (*plan.memories, *plan.corroborations):
            classes[row["tenant_id"], row["memory_id"]].add(promotion_key(row))
    return {frozenset(c) for c in classes.values()}


@settings(max_examples=100)
@given(nights(), st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_show(items: list[Accepted], r: Any) -> None:
    """Files are read in any order; ids, rows and counters are the same."""
    shuffled = list(items)
    r.shuffle(shuffled)
    assert plan_promotions(shuffled, NOTHING, generation=1) == plan_promotions(
        items, NOTHING, generation=1
    )


@settings(max_examples=100)
@given(nights())
def test_promoting_again_adds_nothing(items: list[Accepted]) -> None:
    """A run that is repeated, for whatever reason, changes no row and uses no number."""
    first = plan_promotions(items, NOTHING, generation=1)
    again = plan_promotions(items, _after(NOTHING, first), generation=2)
    assert again.empty
    assert again.already_settled == len(items)
    assert again.counters == first.counters


@settings(max_examples=100)
@given(nights(), st.data())
def test_two_nights_give_the_classes_of_one(items: list[Accepted], data: st.DataObject) -> None:
    """However the decisions are split: the same keys, the same classes, other ids perhaps."""
    early = [i for i in items if data.draw(st.booleans())]
    late = [i for i in items if i not in early]
    first = plan_promotions(early, NOTHING, generation=1)
    second = plan_promotions(late, _after(NOTHING, first), generation=2)
    whole = plan_promotions(items, NOTHING, generation=1)
    assert _classes(first, second) == _classes(whole)
    assert second.counters == whole.counters
    ids = [(m["tenant_id"], m["memory_id"]) for m in (*first.memories, *second.memories)]
    assert len(set(ids)) == len(ids)


@settings(max_examples=100)
@given(nights())
def test_every_decision_is_settled_once_within_its_own_tenant(items: list[Accepted]) -> None:
    """No decision is lost, none counts twice, and no class spans tenants or scopes."""
    plan = plan_promotions(items, NOTHING, generation=1)
    rows = [promotion_key(r) for r in (*plan.memories, *plan.corroborations)]
    assert sorted(rows) == sorted(promotion_key(i.row) for i in items)
    content = {
        promotion_key(i.row): (i.row["tenant_id"], i.row["scope"], i.row["duplicate_key"])
        for i in items
    }
    for members in _classes(plan):
        assert len({content[key] for key in members}) == 1
