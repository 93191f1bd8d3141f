"""Review states of requests: kept while nothing on disk has changed, for some seconds at most."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from memory_assets.pipeline.review.state import ReviewState
from memory_assets.pipeline.workspace import Workspace
from memory_assets.storage.files import stat_signature

_KEEP: Final = timedelta(seconds=20)


class States:
    """The newest state of one workspace; safe to ask from many threads."""

    def __init__(self, workspace: Workspace, clock: Callable[[], datetime]) -> None:
        self.workspace = workspace
        self.clock = clock
        self._lock = threading.Lock()
        self._seen: tuple[str, ...] = ()
        self._state: ReviewState | None = None

    def now(self) -> ReviewState:
        """Where every item stands at this moment."""
        moment = self.clock()
        with self._lock:
            seen = self._signature()
            kept = self._state
            if kept is None or seen != self._seen or moment - kept.now > _KEEP:
                self._seen = seen
                self._state = kept = ReviewState(self.workspace, now=moment)
            return kept

    def _signature(self) -> tuple[str, ...]:
        home = self.workspace.home
        said = [home.review_decisions, home.feedback]
        files = [home.current, *said, *sorted(home.derived.glob("*.json"))]
        return tuple(_signature(path) for path in files)


def _signature(path: Path) -> str:
    try:
        return f"{path.name}:{stat_signature(path.stat())}"
    except OSError:
        return path.name
