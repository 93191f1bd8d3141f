"""The decisions of a session that are still in force, and what ended each of the others.

Replay reads ledger and companion rows as one sequence. Nothing is ever deleted: a decision ends
because a withdrawal in force names it, or because its phase was left by a reopening or a rollback.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from memory_assets.domain.events import (
    EVENT_TYPES,
    PHASES,
    REUSABLE_TYPES,
    LedgerEvent,
    format_ref,
)

EndReason = Literal["withdrawn", "phase_reopened", "phase_rolled_back"]
Verdict = Literal["promoted", "declined"]
_PHASE_NO: Final = {phase: n for n, phase in enumerate(PHASES)}
_LEAVES_PHASES: Final = {"phase_reopened": 1, "phase_rolled_back": 0}


@dataclass(frozen=True, slots=True)
class DecisionState:
    """One decision after the replay."""

    event: LedgerEvent
    ended_by: int | None = None
    """The row that ended it (see ``format_ref``); None while it is in force."""
    ended_reason: EndReason | None = None
    verdict: Verdict | None = None
    verdict_by: int | None = None

    @property
    def in_force(self) -> bool:
        """Whether the decision still holds."""
        return self.ended_by is None


@dataclass(frozen=True, slots=True)
class IgnoredRow:
    """A row without effect, and why."""

    event: LedgerEvent
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class EffectiveSession:
    """The outcome of replaying one session."""

    decisions: tuple[DecisionState, ...]
    finished: bool
    """The last ledger row is a close in force: nothing was written after it."""
    hidden_memories: frozenset[str]
    """Memory ids that legacy rejections hide from the searches of this session."""
    ignored: tuple[IgnoredRow, ...]
    """Markers without a clarification to mark, and rows of unknown type."""
    dangling: tuple[IgnoredRow, ...]
    """Rows that name no earlier row of the session: to be quarantined."""

    def clarifications(self) -> tuple[DecisionState, ...]:
        """The decisions of reusable type, in force or not."""
        return tuple(d for d in self.decisions if d.event.type in REUSABLE_TYPES)


def effective_decisions(events: Sequence[LedgerEvent]) -> EffectiveSession:
    """What a session's rows amount to, with the row that ended each decision no longer in force.

    ``events`` are the accepted rows of ledger and companion file in any order. Withdrawals,
    reopenings, rollbacks and markers never go stale by phase; any of them loses its effect when a
    withdrawal in force names it. Of several verdicts on one decision the latest in force counts.
    """
    ordered, dangling = _with_sound_references(sorted(events, key=_place))
    withdrawn = _withdrawals(ordered)
    endings = _endings(ordered, withdrawn)
    verdicts, ignored = _verdicts(ordered, withdrawn)
    decisions = []
    for event in ordered:
        known = EVENT_TYPES.get(event.type)
        if known is None:
            ignored.append(IgnoredRow(event, "unknown-type", f"type {event.type!r} is not known"))
        elif known.decides:
            end = endings.get(event.ref)
            mark = verdicts.get(event.ref)
            decisions.append(
                DecisionState(
                    event,
                    ended_by=end[0] if end else None,
                    ended_reason=end[1] if end else None,
                    verdict=mark[0] if mark else None,
                    verdict_by=mark[1] if mark else None,
                )
            )
    return EffectiveSession(
        decisions=tuple(decisions),
        finished=_finished(ordered, withdrawn),
        hidden_memories=_hidden(ordered, withdrawn),
        ignored=tuple(ignored),
        dangling=tuple(dangling),
    )


def _place(event: LedgerEvent) -> tuple[int, int]:
    return event.place


def _with_sound_references(
    ordered: list[LedgerEvent],
) -> tuple[list[LedgerEvent], list[IgnoredRow]]:
    """Rows whose reference, if any, names an earlier row; and the others."""
    seen: set[int] = set()
    sound, dangling = [], []
    for event in ordered:
        if event.target is not None and event.target not in seen:
            what = f"{format_ref(event.target)} names no earlier row of this session"
            dangling.append(IgnoredRow(event, "bad-reference", what))
            continue
        seen.add(event.ref)
        sound.append(event)
    return sound, dangling


def _withdrawals(ordered: list[LedgerEvent]) -> dict[int, int]:
    """Withdrawn row → the earliest withdrawal in force that names it.

    A withdrawal names an earlier row, so walking backwards settles every withdrawal before the rows
    that it may concern.
    """
    withdrawn: dict[int, int] = {}
    for event in reversed(ordered):
        if (
            event.type == "decision_withdrawn"
            and event.target is not None
            and event.ref not in withdrawn
        ):
            withdrawn[event.target] = event.ref
    return withdrawn


def _endings(
    ordered: list[LedgerEvent], withdrawn: dict[int, int]
) -> dict[int, tuple[int, EndReason]]:
    """Decision → the first row after it that ended it."""
    endings: dict[int, tuple[int, EndReason]] = {}
    place = {event.ref: n for n, event in enumerate(ordered)}
    left: list[tuple[int, EndReason] | None] = [None] * len(PHASES)
    for event in reversed(ordered):
        phase = event.phase
        after = _LEAVES_PHASES.get(event.type)
        if after is not None and phase is not None and event.ref not in withdrawn:
            reason: EndReason = "phase_reopened" if after else "phase_rolled_back"
            for n in range(_PHASE_NO[phase] + after, len(PHASES)):
                left[n] = (event.ref, reason)
        known = EVENT_TYPES.get(event.type)
        if known is None or not known.decides:
            continue
        end = left[_PHASE_NO[phase]] if phase is not None else None
        by = withdrawn.get(event.ref)
        if by is not None and (end is None or place[by] < place[end[0]]):
            end = (by, "withdrawn")
        if end is not None:
            endings[event.ref] = end
    return endings


def _verdicts(
    ordered: list[LedgerEvent], withdrawn: dict[int, int]
) -> tuple[dict[int, tuple[Verdict, int]], list[IgnoredRow]]:
    types = {event.ref: event.type for event in ordered}
    verdicts: dict[int, tuple[Verdict, int]] = {}
    ignored = []
    for event in ordered:
        known = EVENT_TYPES.get(event.type)
        if known is None or known.marks is None or event.target is None:
            continue
        if types[event.target] not in REUSABLE_TYPES:
            what = f"it marks {format_ref(event.target)}, a {types[event.target]}: never memory"
            ignored.append(IgnoredRow(event, "marker-not-reusable", what))
        elif event.ref not in withdrawn:
            verdicts[event.target] = (known.marks, event.ref)
    return verdicts, ignored


def _finished(ordered: list[LedgerEvent], withdrawn: dict[int, int]) -> bool:
    last = next((e for e in reversed(ordered) if e.ref > 0), None)
    return last is not None and last.type == "session_closed" and last.ref not in withdrawn


def _hidden(ordered: list[LedgerEvent], withdrawn: dict[int, int]) -> frozenset[str]:
    return frozenset(
        e.detail.strip()
        for e in ordered
        if e.type == "memory_rejected" and e.target is None and e.ref not in withdrawn
    )
