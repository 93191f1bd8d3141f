"""The score: four terms in [0, 1], whatever the figures, and never a NaN."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.domain.ranking import (
    SECONDS_PER_DAY,
    Calibration,
    Ranking,
    Weights,
    rank_of,
    top,
)

DAY = SECONDS_PER_DAY
anything = st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=8)
calibrations = st.builds(
    Calibration,
    st.floats(0, 1e6),
    st.floats(-1, 1),
    st.floats(-1, 1),
)


@given(anything, calibrations, st.floats(0.01, 36_500), st.floats(-1e12, 1e12))
def test_terms_lie_between_zero_and_one(
    values: list[float], calibration: Calibration, days: float, now: float
) -> None:
    """Missing, infinite and absurd figures give a term all the same, and it is in [0, 1]."""
    ranking = Ranking(recency_days=days, calibration=calibration)
    figures = np.array(values)
    for term in (
        ranking.cosine_term(figures),
        ranking.text_term(figures),
        ranking.recency_term(figures, now),
    ):
        assert np.isfinite(term).all()
        assert ((term >= 0) & (term <= 1)).all()


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=8), st.integers(0, 10**9))
def test_use_lies_between_zero_and_one(uses: list[int], most: int) -> None:
    """However often a memory was used, and even when the maximum is behind the times."""
    term = Ranking().access_term(np.array(uses), most)
    assert ((term >= 0) & (term <= 1)).all()


def test_the_terms_have_the_values_of_the_requirement() -> None:
    """exp(-age/14 days), ln(1+n)/ln(1+most), s/(s+k), and the cosine between its two marks."""
    ranking = Ranking(calibration=Calibration(text_k=10, cosine_low=0.7, cosine_high=0.9))
    now = 1e9
    ages = np.array([now, now - 14 * DAY, now + DAY])
    assert ranking.recency_term(ages, now) == pytest.approx([1, math.exp(-1), 1])
    assert ranking.access_term(np.array([0, 3, 7]), 7) == pytest.approx([0, 2 / 3, 1])
    assert ranking.text_term(np.array([0.0, 10, 30])) == pytest.approx([0, 0.5, 0.75])
    cosines = np.array([0.6, 0.8, 0.95, np.nan])
    assert ranking.cosine_term(cosines) == pytest.approx([0, 0.5, 1, 0])


def test_recency_is_a_time_constant_and_not_a_half_life() -> None:
    """After 14 days a good third is left; half is left after 9.7 days."""
    term = Ranking().recency_term(np.array([-14 * DAY, -14 * math.log(2) * DAY]), 0.0)
    assert term == pytest.approx([0.3679, 0.5], abs=1e-4)


def test_a_memory_that_nobody_ever_used_gets_nothing_for_use() -> None:
    """Without any use in the tenant the term is 0, not a division by zero."""
    assert list(Ranking().access_term(np.array([0, 0]), 0)) == [0, 0]


def test_the_score_is_the_weighted_sum() -> None:
    """0.55 cosine + 0.25 text + 0.15 recency + 0.05 use."""
    one = np.array([1.0])
    zero = np.array([0.0])
    score = Ranking().score
    assert score(one, zero, zero, zero) == pytest.approx([0.55])
    assert score(zero, one, zero, zero) == pytest.approx([0.25])
    assert score(zero, zero, one, zero) == pytest.approx([0.15])
    assert score(zero, zero, zero, one) == pytest.approx([0.05])
    assert Weights().total == pytest.approx(1)


@given(
    st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), max_size=30),
    st.integers(0, 12),
    st.randoms(use_true_random=False),
)
def test_the_best_are_those_of_a_full_sort(values: list[float], k: int, random: object) -> None:
    """Partial selection gives what sorting everything gives, ties by order included."""
    order = np.arange(len(values))[::-1].copy()
    expected = sorted(range(len(values)), key=lambda i: (-values[i], order[i]))[:k]
    assert list(top(np.array(values), k, order)) == expected


def test_a_value_of_nothing_has_no_rank() -> None:
    """What a leg did not find has no place in it; equal values share one."""
    values = np.array([0.5, 0.9, 0.0, 0.5, np.nan])
    assert [rank_of(values, i) for i in range(5)] == [2, 1, None, 2, None]


def test_a_calibration_survives_the_manifest() -> None:
    """What is written is read back; fields that an older manifest lacks keep their default."""
    calibration = Calibration(3.5, 0.7, 0.95)
    assert Calibration.from_dict(calibration.to_dict()) == calibration
    assert Calibration.from_dict({"text_k": 2, "else": 1}) == Calibration(text_k=2)
