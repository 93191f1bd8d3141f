"""Stage results of runs that this very process started, for the report at their end.

Metadata carries counts only; a person who runs a night from a terminal also wants reasons and
files. So results stay in memory for a run that was announced here, and for no other.
"""

from __future__ import annotations

from typing import Any

_announced: dict[str, dict[str, Any]] = {}


def announce(run_id: str) -> None:
    """Keeps the stage results of this run."""
    _announced[run_id] = {}


def note(run_id: str, stage: str, result: Any) -> None:
    """Remembers a stage's result if somebody announced the run."""
    if run_id in _announced:
        _announced[run_id][stage] = result


def is_announced(run_id: str) -> bool:
    """Whether this very process started the run and reports its end to a person."""
    return run_id in _announced


def collect(run_id: str) -> dict[str, Any]:
    """The results of an announced run, and forgets them."""
    return _announced.pop(run_id, {})
