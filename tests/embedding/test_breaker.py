"""The circuit breaker, by rule and by random histories."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.embedding.breaker import Breaker, BreakerState

EVENTS = st.lists(
    st.tuples(st.sampled_from(["ask", "ok", "fail", "undecided"]), st.floats(0, 40)),
    max_size=60,
)


def test_three_failures_in_a_row_open_it_for_thirty_seconds() -> None:
    """Two failures leave it closed, the third opens it, and after 30 s one try may go."""
    breaker = Breaker()
    breaker.failed(0.0)
    breaker.failed(1.0)
    assert breaker.allows(1.0)
    breaker.failed(2.0)
    assert breaker.state(2.0) is BreakerState.OPEN
    assert not breaker.allows(31.9)
    assert breaker.retry_in(12.0) == pytest.approx(20.0)
    assert breaker.state(32.0) is BreakerState.HALF_OPEN
    assert breaker.allows(32.0)


def test_a_success_between_failures_starts_the_count_anew() -> None:
    """Only failures in a row count."""
    breaker = Breaker()
    for _ in range(5):
        breaker.failed(0.0)
        breaker.failed(0.0)
        breaker.succeeded()
    assert breaker.state(0.0) is BreakerState.CLOSED


def test_half_open_lets_one_try_through_until_it_reports() -> None:
    """While the one try is under way everybody else waits; its success lets all in."""
    breaker = Breaker(threshold=1)
    breaker.failed(0.0)
    assert breaker.allows(30.0)
    assert not breaker.allows(30.0)
    breaker.succeeded()
    assert breaker.allows(30.0)
    assert breaker.allows(30.0)


def test_a_failed_try_opens_it_for_the_whole_time_again() -> None:
    """One failure is enough in the half-open state."""
    breaker = Breaker(threshold=3)
    for _ in range(3):
        breaker.failed(0.0)
    assert breaker.allows(30.0)
    breaker.failed(35.0)
    assert not breaker.allows(64.9)
    assert breaker.allows(65.0)


def test_a_try_that_never_reports_is_given_up() -> None:
    """A killed thread does not keep the breaker shut for ever."""
    breaker = Breaker(threshold=1)
    breaker.failed(0.0)
    assert breaker.allows(30.0)
    assert not breaker.allows(59.0)
    assert breaker.allows(60.0)


def test_late_failures_do_not_keep_it_open_longer() -> None:
    """Calls that were under way when it opened may fail later without moving the time."""
    breaker = Breaker(threshold=1)
    breaker.failed(0.0)
    breaker.failed(29.0)
    assert breaker.allows(30.0)


@given(EVENTS, st.integers(1, 5))
def test_it_is_never_open_without_enough_failures_nor_for_ever(
    events: list[tuple[str, float]], threshold: int
) -> None:
    """In any history: closed means fewer failures than the threshold; waiting always helps."""
    breaker = Breaker(threshold=threshold)
    now, in_a_row = 0.0, 0
    for what, later in events:
        now += later
        before = breaker.state(now)
        if what == "ask":
            allowed = breaker.allows(now)
            assert allowed or before is not BreakerState.CLOSED
            assert not (allowed and before is BreakerState.OPEN)
        elif what == "ok":
            breaker.succeeded()
            in_a_row = 0
            assert breaker.state(now) is BreakerState.CLOSED
        elif what == "fail":
            breaker.failed(now)
            in_a_row += 1
            if before is BreakerState.HALF_OPEN:
                assert breaker.state(now) is BreakerState.OPEN
        else:
            breaker.undecided()
        assert breaker.failures == in_a_row
        assert (breaker.state(now) is BreakerState.CLOSED) == (in_a_row < threshold)
        assert 0 <= breaker.retry_in(now) <= breaker.open_seconds
    assert breaker.allows(now + breaker.retry_in(now) + 1e-6)


@pytest.mark.parametrize(("threshold", "seconds"), [(0, 30.0), (3, 0.0)])
def test_a_breaker_that_could_never_work_is_refused(threshold: int, seconds: float) -> None:
    """No threshold, or no time to stay open, is a mistake in the settings."""
    with pytest.raises(ValueError, match="breaker"):
        Breaker(threshold, seconds)
