"""Verdicts on pairs: the latest counts, and a no is remembered."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memory_assets.domain.merge_review import PairReview, PairVerdict, PairVerdicts

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def review(a: str, b: str, verdict: PairVerdict, day: int = 0, tenant: str = "t") -> PairReview:
    """A verdict on a pair."""
    return PairReview(
        tenant_id=tenant,
        memory_a=a,
        memory_b=b,
        verdict=verdict,
        reviewer="rosa",
        decided_at=NOW + timedelta(days=day),
        content_a="x",
        content_b="y",
    )


def test_the_latest_verdict_counts_whatever_the_order_of_the_two() -> None:
    """A later word on the same pair replaces the earlier one."""
    found = PairVerdicts([review("b", "a", "same", 2), review("a", "b", "different", 1)])
    assert not found.are_different("t", "a", "b")
    assert found.of("t", "b", "a") is not None


def test_every_verdict_but_same_keeps_a_pair_apart() -> None:
    """Different, contained and conflicting memories are no duplicates."""
    for verdict in ("different", "contains", "conflicts"):
        assert PairVerdicts([review("a", "b", verdict)]).are_different("t", "b", "a")
    assert not PairVerdicts([]).are_different("t", "a", "b")


def test_tenants_do_not_share_verdicts() -> None:
    """The same ids in another tenant are other memories."""
    found = PairVerdicts([review("a", "b", "different", tenant="u")])
    assert not found.are_different("t", "a", "b")
    assert found.tenants() == ["u"]
    assert [r.memory_a for r in found.of_tenant("u")] == ["a"]
