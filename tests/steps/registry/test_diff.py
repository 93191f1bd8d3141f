"""Side by side: what stands on one side only."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memory_assets.steps.registry.diff import side_by_side

WORDS = st.lists(st.sampled_from(["a", "b", "60", "`x = 1`", " ", "\n", ","]), max_size=30)


def test_one_number_is_the_difference() -> None:
    """Only the words that differ are marked."""
    ours, theirs = side_by_side("entro 60 giorni", "entro 90 giorni")
    assert [s.text for s in ours if s.changed] == ["60"]
    assert [s.text for s in theirs if s.changed] == ["90"]


@given(WORDS, WORDS)
def test_nothing_is_lost_and_the_rest_is_equal(left: list[str], right: list[str]) -> None:
    """Segments put together give both texts; unmarked ones give the same text on both sides."""
    a, b = "".join(left), "".join(right)
    ours, theirs = side_by_side(a, b)
    assert "".join(s.text for s in ours) == a
    assert "".join(s.text for s in theirs) == b
    common = ["".join(s.text for s in side if not s.changed) for side in (ours, theirs)]
    assert common[0] == common[1]


def test_long_texts_are_cut_where_they_differ() -> None:
    """Four megabytes that share all but their end must not take a minute."""
    long = "same line\n" * 200_000
    ours, theirs = side_by_side(long + "mine", long + "theirs")
    assert [s.text for s in ours if s.changed] == ["mine"]
    assert [s.text for s in theirs if s.changed] == ["theirs"]


def test_a_long_stretch_that_differs_is_marked_as_a_whole() -> None:
    """Word by word would take minutes, and would tell nobody anything."""
    ours, theirs = side_by_side("a b " * 50_000, "b c " * 50_000)
    assert [s.changed for s in ours] == [True, False]
    assert [s.changed for s in theirs] == [True, False]
