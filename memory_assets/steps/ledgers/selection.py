"""Which sessions a night takes in: all that changed, or chosen ones, for a backfill in pieces."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

import orjson

from memory_assets.domain.parsing import BadLine, parse_time
from memory_assets.errors import UsageError
from memory_assets.storage.ledgers import ScanProblem, SessionFiles, scan_ledgers

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
        wanted = frozenset(tenants)
        problems = [f"{name!r} is no tenant/session" for name in sorted(names) if "/" not in name]
        if wanted:
            others = [n for n in sorted(names) if "/" in n and n.split("/")[0] not in wanted]
            problems += [f"{name!r} is of none of the chosen tenants" for name in others]
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
            raise _invalid(problems)
        return cls(wanted, names, first, last)

    def check(self, ledgers: Path) -> None:
        """Looks whether all named tenants and sessions are there: a misspelt one takes nothing.

        Raises:
            UsageError: some are not; all of them are named.
        """
        if not self.tenants and not self.sessions:
            return
        noted: list[ScanProblem] = []
        found = {files.key for files in scan_ledgers(ledgers, noted)}
        there = {tenant for tenant, _ in found} | {problem.tenant_id for problem in noted}
        problems = [f"tenant {t!r} has no ledgers" for t in sorted(self.tenants - there)]
        problems += [
            f"there is no session {name!r}"
            for name in sorted(self.sessions - {"/".join(key) for key in found})
            if not any(p.tenant_id == name.split("/")[0] for p in noted)
        ]
        if problems:
            raise _invalid(problems)

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


def _invalid(problems: Iterable[str]) -> UsageError:
    return UsageError(
        f"The selection of sessions is not valid: {'; '.join(problems)}.",
        remedy="mend the run configuration of ledger_events, and launch the run again.",
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
