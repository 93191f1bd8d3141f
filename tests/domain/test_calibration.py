"""What labelled pairs prove, and when they prove too little."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.domain.calibration import (
    Label,
    b_cubed,
    components,
    curve,
    folds,
    lower_bound,
    operating_point,
)


def passed(cosine: float, same: bool = True) -> Label:
    """A label that every guard let pass."""
    return Label(cosine, same, passed=True)


@pytest.mark.parametrize(
    ("successes", "trials", "expected"),
    [(59, 59, 0.9505), (299, 299, 0.9900), (298, 299, 0.9842), (0, 10, 0.0), (0, 0, 0.0)],
)
def test_the_bound_is_that_of_the_textbook(successes: int, trials: int, expected: float) -> None:
    """59 of 59 prove 0.95, 299 of 299 prove 0.99; one error costs much of it."""
    assert lower_bound(successes, trials) == pytest.approx(expected, abs=1e-4)


@given(st.integers(1, 60), st.data())
def test_the_bound_solves_the_binomial_tail(trials: int, data: st.DataObject) -> None:
    """At the bound, so many successes or more have exactly the probability 1 - confidence."""
    successes = data.draw(st.integers(1, trials))
    p = lower_bound(successes, trials)
    tail = sum(
        math.comb(trials, i) * p**i * (1 - p) ** (trials - i) for i in range(successes, trials + 1)
    )
    assert tail == pytest.approx(0.05, abs=1e-6)
    assert p <= successes / trials


def test_a_bound_outside_the_trials_is_refused() -> None:
    """More successes than trials are a mistake of the caller."""
    with pytest.raises(ValueError, match="between 0"):
        lower_bound(3, 2)


def test_few_labels_earn_nothing() -> None:
    """58 labels without an error are one too few for 0.95."""
    point = operating_point([passed(0.9)] * 58)
    assert (point.threshold, point.labels, point.errors) == (None, 58, 0)
    assert operating_point([passed(0.9)] * 59).threshold == 0.9


def test_the_lowest_proven_threshold_is_taken() -> None:
    """Right pairs further down lower the threshold until an error breaks the bound."""
    good = [passed(0.99 - i * 0.001) for i in range(80)]
    bad = [passed(0.80, same=False)] * 5
    point = operating_point([*good, *bad, passed(0.79)])
    assert point.threshold == pytest.approx(0.911)
    assert point.errors == 0


def test_a_target_that_is_lost_is_not_regained_by_luck() -> None:
    """Once errors have broken the bound, right pairs below do not bring automation back."""
    good, bad = [passed(0.95)] * 60, [passed(0.9, same=False)] * 3
    point = operating_point([*good, *bad, *[passed(0.8)] * 500])
    assert point.threshold == 0.95


def test_only_pairs_that_passed_every_guard_are_evidence() -> None:
    """A thousand right pairs that the guards doubted prove nothing."""
    doubted = [Label(0.99, same=True, passed=False)] * 1000
    assert operating_point(doubted).threshold is None


def test_equal_cosines_stand_or_fall_together() -> None:
    """A threshold cannot part pairs of one cosine, so the right ones alone prove nothing."""
    labels = [passed(0.9)] * 60 + [passed(0.9, same=False)] * 10
    assert operating_point(labels).threshold is None


def test_the_curve_counts_and_the_guards_veto() -> None:
    """A vetoed pair is merged by cosine alone and left apart with guards."""
    labels = [passed(0.95), passed(0.85), Label(0.97, same=False, passed=False, vetoed=True)]
    (plain,) = curve(labels, [0.9], guards=False)
    (kept,) = curve(labels, [0.9], guards=True)
    assert (plain.precision, plain.recall) == (0.5, 0.5)
    assert (kept.precision, kept.recall) == (1.0, 0.5)
    assert kept.f1 == pytest.approx(2 / 3)


def test_a_curve_of_nothing_is_well_defined() -> None:
    """No merged pair is no wrong one; no true pair is no recall."""
    (point,) = curve([], [0.9], guards=True)
    assert (point.precision, point.recall, point.f1, point.lower) == (1.0, 0.0, 0.0, 0.0)


def test_b_cubed_of_a_known_case() -> None:
    """Two clusters of two, found as one of three and one alone."""
    precision, recall = b_cubed([0, 0, 1, 1], [0, 0, 0, 1])
    assert precision == pytest.approx((2 / 3 + 2 / 3 + 1 / 3 + 1) / 4)
    assert recall == pytest.approx((1 + 1 + 0.5 + 0.5) / 4)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=20))
def test_b_cubed_of_the_truth_is_perfect(truth: list[int]) -> None:
    """A clustering agrees with itself whatever the numbers of its clusters."""
    assert b_cubed(truth, [t + 10 for t in truth]) == pytest.approx((1.0, 1.0))


_LINKS = st.lists(st.tuples(st.sampled_from("abcdefghij"), st.sampled_from("abcdefghij")))


@given(_LINKS)
def test_folds_share_no_text(links: list[tuple[str, str]]) -> None:
    """Pairs that share a text, directly or over others, are in one fold."""
    found = folds(links)
    fold_of: dict[str, int] = {}
    for (left, right), fold in zip(links, found, strict=True):
        assert fold_of.setdefault(left, fold) == fold
        assert fold_of.setdefault(right, fold) == fold


@given(_LINKS)
def test_components_agree_with_networkx(links: list[tuple[str, str]]) -> None:
    """Groups are the connected components of the graph."""
    import networkx as nx

    graph = nx.Graph(links)
    groups: dict[int, set[str]] = {}
    for name, number in components(links).items():
        groups.setdefault(number, set()).add(name)
    expected = sorted(sorted(c) for c in nx.connected_components(graph))
    assert sorted(sorted(g) for g in groups.values()) == expected
