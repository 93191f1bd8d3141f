"""A small installation for tests: ledgers written row by row, and real nights run on them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from memory_assets.domain.review import ReviewDecision, ReviewVerdict
from memory_assets.pipeline.nightly.night import NightReport, run_night
from memory_assets.pipeline.workspace import Workspace
from memory_assets.storage.review_log import append_review_decisions
from tests.building import write_session

NOW = datetime(2026, 3, 1, 3, 30, tzinfo=UTC)
EMBEDDING = "hashed:64"


@dataclass
class World:
    """Ledgers and home below one folder, and a clock that stands still until it is moved."""

    root: Path
    now: datetime = NOW

    @property
    def home(self) -> Path:
        """The home folder."""
        return self.root / "home"

    @property
    def ledgers(self) -> Path:
        """The ledgers folder."""
        return self.root / "ledgers"

    @property
    def flags(self) -> dict[str, str | None]:
        """What commands and workspaces are told."""
        return {"home": str(self.home), "ledgers": str(self.ledgers), "embedding": EMBEDDING}

    @cached_property
    def workspace(self) -> Workspace:
        """The use cases of this installation."""
        return Workspace.load(**self.flags)

    def session(
        self,
        tenant: str,
        session: str,
        *rows: Mapping[str, Any] | bytes,
        companion: Iterable[Mapping[str, Any] | bytes] = (),
    ) -> Path:
        """Writes the session's files anew; the path of its ledger."""
        return write_session(self.ledgers, tenant, session, rows, companion)

    def tenants(self, text: str) -> None:
        """Writes ``tenants.toml``; workspaces that were loaded before do not see it."""
        self.home.mkdir(parents=True, exist_ok=True)
        (self.home / "tenants.toml").write_text(text, encoding="utf-8")
        self.__dict__.pop("workspace", None)

    def night(self) -> NightReport:
        """The report of a real night, a minute after the last one."""
        self.now += timedelta(minutes=1)
        return run_night(self.workspace, now=self.now, run_id=f"run-{self.now:%H%M}")

    def review(
        self, tenant: str, session: str, seq: int, verdict: ReviewVerdict, **more: Any
    ) -> None:
        """A reviewer's verdict on a candidate as it stands."""
        waiting = self.workspace.assess(now=self.now).routes.filter(
            tenant_id=tenant, session_id=session, decision_seq=seq
        )
        decision = ReviewDecision(
            tenant_id=tenant,
            session_id=session,
            decision_seq=seq,
            verdict=verdict,
            reviewer="anna",
            decided_at=self.now,
            content_sha256=waiting["content_sha256"].item(),
            **more,
        )
        append_review_decisions(self.workspace.home.review_decisions, [decision])


def tree(*roots: Path) -> dict[str, str]:
    """Every path below the folders with what it holds: equal trees are equal byte for byte."""
    found: dict[str, str] = {}
    for root in roots:
        for path in sorted(root.rglob("*")):
            if path.is_symlink():
                found[str(path)] = f"link {path.readlink()}"
            elif path.is_file():
                found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
            else:
                found[str(path)] = "folder"
    return found
