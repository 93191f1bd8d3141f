"""Which sessions a night takes in: all that changed, or chosen ones, for a backfill in pieces."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final

import orjson

from memory_assets.domain.parsing import BadLine, parse_time
from memory_assets.errors import UsageError
from memory_assets.storage.ledgers import SessionFiles

_HEAD_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Selection:
    """Chosen tenants, sessions and days; what is left empty chooses everything.

    What is not chosen is not opened and keeps its watermark, so a later night takes it in. Days are
    UTC and count by the session's first row, both ends included.
    """

    tenants: frozenset[str] = frozenset()
    sessions: frozenset[str] = frozenset()
    """``tenant/session``."""
    since: date | None = None
    until: date | None = None

    @classmethod
    def of(
        cls,
        tenants: Iterable[str] = (),
        sessions: Iterable[str] = (),
        since: str = "",
        until: str = "",
    ) -> Selection:
        """The selection that a run's configuration names; days as YYYY-MM-DD.

        Raises:
            UsageError: a day or a session cannot be what was meant; every problem is named.
        """
        names = frozenset(sessions)
        problems = [f"{name!r} is no tenant/session" for name in sorted(names) if "/" not in name]
        days: list[date | None] = []
        for label, text in (("since", since), ("until", until)):
            try:
                days.append(date.fromisoformat(text) if text else None)
            except ValueError:
                problems.append(f"{label} = {text!r} is no day such as 2026-01-31")
                days.append(None)
        first, last = days
        if first and last and first > last:
            problems.append(f"since {since} comes after until {until}")
        if problems:
            raise UsageError(
                f"The selection of sessions is not valid: {'; '.join(problems)}.",
                remedy="mend the run configuration of ledger_events, and launch the run again.",
            )
        return cls(frozenset(tenants), names, first, last)

    def takes(self, files: SessionFiles) -> bool:
        """Whether the session is chosen; its first line is read only when days are named."""
        if self.tenants and files.tenant_id not in self.tenants:
            return False
        if self.sessions and "/".join(files.key) not in self.sessions:
            return False
        if self.since is None and self.until is None:
            return True
        day = _first_day(files)
        if day is None:
            return False
        return (self.since is None or day >= self.since) and (
            self.until is None or day <= self.until
        )


def _first_day(files: SessionFiles) -> date | None:
    """The UTC day of the first row that has a time; None when none of the first ones has."""
    try:
        with files.ledger.open("rb") as ledger:
            head = ledger.read(_HEAD_BYTES)
    except OSError:
        return None
    for line in head.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        moment = _time(line)
        if moment is not None:
            return moment.astimezone(UTC).date()
    return None


def _time(line: bytes) -> datetime | None:
    try:
        return parse_time(orjson.loads(line)["ts"])[0]
    except (BadLine, ValueError, KeyError, TypeError):
        return None
