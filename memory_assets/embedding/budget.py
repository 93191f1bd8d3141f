"""A cap on what hosted embedding may cost in one run, kept before money is spent."""

from __future__ import annotations

import threading

from memory_assets.errors import BudgetExhausted


class Budget:
    """Dollars that one run may spend, shared by all providers of the run; None is no limit.

    A request reserves the most that it can cost and settles what it did cost, so that the sum
    never passes the limit, not even by one request.
    """

    def __init__(self, limit_dollars: float | None) -> None:
        self.limit_dollars = limit_dollars
        self._spent = 0.0
        self._reserved = 0.0
        self._lock = threading.Lock()

    @property
    def spent_dollars(self) -> float:
        """What was settled so far."""
        return self._spent

    @property
    def left_dollars(self) -> float:
        """What may still be reserved; infinite without a limit."""
        if self.limit_dollars is None:
            return float("inf")
        return max(0.0, self.limit_dollars - self._spent - self._reserved)

    def reserve(self, dollars: float) -> None:
        """Set ``dollars`` aside.

        Raises:
            BudgetExhausted: the limit would be passed; nothing was set aside.
        """
        with self._lock:
            if dollars > self.left_dollars:
                raise BudgetExhausted(
                    f"The embedding budget of this run ({self.limit_dollars} dollars) does not "
                    f"cover the next request: {self._spent:.6f} are spent.",
                    remedy="What is missing stays pending; the next run goes on, or raise the "
                    "budget.",
                )
            self._reserved += dollars

    def settle(self, reserved: float, actual: float) -> None:
        """Replace a reservation by what the request did cost."""
        with self._lock:
            self._reserved -= reserved
            self._spent += actual
