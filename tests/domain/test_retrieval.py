"""Figures of retrieval quality, against values worked out by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.domain.retrieval import quality

ranks = st.lists(st.lists(st.none() | st.integers(1, 50), min_size=1, max_size=4), max_size=6)


def test_a_perfect_answer_is_one_in_every_figure() -> None:
    """Two needed memories at ranks 1 and 2, in any order."""
    found = quality([[2, 1]])
    assert (found.recall_at_1, found.recall_at_10, found.mrr, found.ndcg) == (1, 1, 1, 1)


def test_figures_worked_out_by_hand() -> None:
    """One needed memory at rank 3, and one that was not found at all."""
    found = quality([[3], [None]])
    assert found.questions == 2
    assert (found.recall_at_1, found.recall_at_5, found.recall_at_10) == (0, 0.5, 0.5)
    assert found.mrr == pytest.approx(1 / 6)
    assert found.ndcg == pytest.approx(0.5 / math.log2(4))


def test_beyond_the_tenth_place_nothing_counts() -> None:
    """Recall, reciprocal rank and gain all look at ten places."""
    found = quality([[11]])
    assert (found.recall_at_10, found.mrr, found.ndcg) == (0, 0, 0)


def test_no_questions_give_no_division_by_zero() -> None:
    """Nothing asked, nothing found."""
    assert quality([]).to_dict()["questions"] == 0


@given(ranks)
def test_figures_lie_between_zero_and_one(found: list[list[int | None]]) -> None:
    """Distinct or repeated, found or not, deep or at the top."""
    distinct = [list(dict.fromkeys(r)) for r in found]
    values = quality(distinct).to_dict()
    assert all(0 <= v <= 1 for k, v in values.items() if k != "questions")


@given(ranks, st.integers(0, 5))
def test_finding_earlier_is_never_worse(found: list[list[int | None]], which: int) -> None:
    """Moving one needed memory to the first place lowers no figure."""
    if which >= len(found):
        return
    distinct = [list(dict.fromkeys(r)) for r in found]
    better = [list(r) for r in distinct]
    if 1 not in better[which]:
        better[which][0] = 1
    before, after = quality(distinct).to_dict(), quality(better).to_dict()
    assert all(after[k] >= before[k] - 1e-9 for k in before)
