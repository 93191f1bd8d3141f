"""The circuit breaker: a provider that fails again and again is left alone for a while."""

from __future__ import annotations

from enum import StrEnum


class BreakerState(StrEnum):
    """Whether calls go through."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


class Breaker:
    """Counts failures in a row; pure but for that count, since every method is told the time.

    ``threshold`` failures in a row open it for ``open_seconds``. Then it is half open: one call
    may try; its success closes the breaker, its failure opens it anew. A try that never reports
    back (its thread was killed) is given up after another ``open_seconds``.
    """

    def __init__(self, threshold: int = 3, open_seconds: float = 30.0) -> None:
        if threshold < 1 or open_seconds <= 0:
            raise ValueError("a breaker needs a threshold and a time to stay open")
        self.threshold = threshold
        self.open_seconds = open_seconds
        self._failures = 0
        self._opened_at: float | None = None
        self._tried_at: float | None = None

    @property
    def failures(self) -> int:
        """Failures since the last success."""
        return self._failures

    def state(self, now: float) -> BreakerState:
        """The state at ``now``; asking changes nothing."""
        if self._opened_at is None:
            return BreakerState.CLOSED
        if now - self._opened_at < self.open_seconds:
            return BreakerState.OPEN
        return BreakerState.HALF_OPEN

    def retry_in(self, now: float) -> float:
        """Seconds until a call may be tried; 0 where one may be tried now."""
        waits = [
            since + self.open_seconds - now
            for since in (self._opened_at, self._tried_at)
            if since is not None
        ]
        return min(self.open_seconds, max([0.0, *waits]))

    def allows(self, now: float) -> bool:
        """Whether a call may go now. In the half-open state only the first one that asks may."""
        if self._opened_at is None:
            return True
        if self.retry_in(now) > 0:
            return False
        self._tried_at = now
        return True

    def succeeded(self) -> None:
        """A call went well: closed, nothing counted."""
        self._failures = 0
        self._opened_at = None
        self._tried_at = None

    def failed(self, now: float) -> None:
        """A call failed. A late report while the breaker is open does not keep it open longer."""
        self._failures += 1
        if self.state(now) is BreakerState.OPEN:
            return
        if self._opened_at is not None or self._failures >= self.threshold:
            self._opened_at = now
        self._tried_at = None

    def undecided(self) -> None:
        """A call ended without showing whether the provider works: another one may try."""
        self._tried_at = None
