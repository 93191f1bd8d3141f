"""Replay on random sessions: an independent oracle, order of input, and what must never change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memory_assets.domain.effective import EffectiveSession, effective_decisions
from memory_assets.domain.events import DECISION_TYPES, PHASES, LedgerEvent
from tests.building import events, in_force, verdicts

REFERRING = ("decision_withdrawn", "memory_promoted", "memory_promotion_declined")
TYPES = (
    *("concept_clarified",) * 5,
    *("decision_withdrawn",) * 6,
    *("memory_promoted", "memory_promotion_declined", "memory_rejected"),
    *("phase_reopened", "phase_rolled_back") * 2,
    *("table_promoted", "column_excluded", "memory_event", "memory_proposed"),
    *("session_closed", "of_a_later_version"),
)


@dataclass(frozen=True)
class Rows:
    """The rows of both files of one session."""

    ledger: tuple[dict[str, Any], ...]
    companion: tuple[dict[str, Any], ...]

    def events(self) -> list[LedgerEvent]:
        return events(self.ledger, self.companion)

    def replayed(self) -> EffectiveSession:
        return effective_decisions(self.events())

    def then(self, type: str, detail: str = "", phase: str = "F8") -> Rows:
        """The same session with one more ledger row."""
        seq = len(self.ledger) + 1
        new = {"seq": seq, "ts": "2026-01-31T10:00:00Z", "type": type, "phase": phase}
        return Rows((*self.ledger, new | {"detail": detail}), self.companion)


@st.composite
def sessions(draw: st.DrawFn) -> Rows:
    """Rows in replay order, each in the ledger or the companion file, naming any earlier row."""
    ledger: list[dict[str, Any]] = []
    companion: list[dict[str, Any]] = []
    names: list[str] = []
    for _ in range(draw(st.integers(0, 16))):
        type = draw(st.sampled_from(TYPES))
        if type in REFERRING and not names:
            type = "concept_clarified"
        new: dict[str, Any] = {"ts": "2026-01-31T10:00:00Z", "type": type}
        new["phase"] = draw(st.sampled_from(PHASES[:4]))
        if type == "concept_clarified":
            new |= {"subject": "s", "detail": "d"}
        elif type in REFERRING or (names and type == "memory_rejected" and draw(st.booleans())):
            back = draw(st.integers(1, min(len(names), 6)))
            new["detail"] = names[-back]
        elif type == "memory_rejected":
            new["detail"] = draw(st.sampled_from(["mem-0001", "mem-0002"]))
        mine = draw(st.sampled_from([ledger, ledger, ledger, companion]))
        new["seq"] = len(mine) + 1
        if mine is companion:
            new["after_seq"] = len(ledger)
        mine.append(new)
        names.append(f"{'m' if mine is companion else 'seq'}:{new['seq']}")
    return Rows(tuple(ledger), tuple(companion))


def _not_crossed_out(ordered: list[LedgerEvent]) -> list[LedgerEvent]:
    """The rows that no withdrawal in force names.

    Nothing can withdraw the last withdrawal, so it holds: cross out what it names and take the next
    one before it that is not crossed out.
    """
    crossed: set[int] = set()
    for event in ordered[::-1]:
        if event.type == "decision_withdrawn" and event.ref not in crossed:
            crossed.add(event.target or 0)
    return [e for e in ordered if e.ref not in crossed]


def _oracle(ordered: list[LedgerEvent]) -> tuple[list[int], dict[int, tuple[str, int]], set[str]]:
    """In force, verdicts and hidden memories: what was not crossed out, played forwards."""
    clarified = {e.ref for e in ordered if e.type == "concept_clarified"}
    live: dict[int, int] = {}
    marks: dict[int, tuple[str, int]] = {}
    hidden: set[str] = set()
    for event in _not_crossed_out(ordered):
        phase = PHASES.index(event.phase) if event.phase else -1
        if event.type in DECISION_TYPES:
            live[event.ref] = phase
        elif event.type == "phase_reopened":
            live = {ref: p for ref, p in live.items() if p <= phase}
        elif event.type == "phase_rolled_back":
            live = {ref: p for ref, p in live.items() if p < phase}
        elif event.type in ("memory_promotion_declined", "memory_rejected", "memory_promoted"):
            verdict = "promoted" if event.type == "memory_promoted" else "declined"
            if event.target in clarified:
                marks[event.target or 0] = (verdict, event.ref)
            elif event.target is None:
                hidden.add(event.detail)
    return list(live), marks, hidden


@settings(max_examples=300)
@given(sessions())
def test_an_oracle_written_otherwise_agrees(rows: Rows) -> None:
    """Decisions in force, verdicts and hidden memories of any session."""
    session = rows.replayed()
    ordered = sorted(rows.events(), key=lambda e: e.place)
    expected, marks, hidden = _oracle(ordered)
    assert in_force(session) == expected
    assert verdicts(session) == marks
    assert session.hidden_memories == hidden
    assert session.dangling == ()


@settings(max_examples=100)
@given(sessions(), st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_show(rows: Rows, r: Any) -> None:
    """Two files are read as one session, in whatever order their rows arrive."""
    shuffled = rows.events()
    r.shuffle(shuffled)
    assert effective_decisions(shuffled) == rows.replayed()


@settings(max_examples=100)
@given(sessions())
def test_every_ending_is_explained_by_a_later_row(rows: Rows) -> None:
    """The row that ended a decision comes after it, names it or leaves its phase, and holds."""
    session = rows.replayed()
    by_ref = {e.ref: e for e in rows.events()}
    for state in session.decisions:
        assert (state.ended_by is None) == (state.ended_reason is None)
        if state.ended_by is None:
            continue
        end = by_ref[state.ended_by]
        assert end.place > state.event.place
        if state.ended_reason == "withdrawn":
            assert (end.type, end.target) == ("decision_withdrawn", state.event.ref)
        else:
            assert end.type == state.ended_reason
            assert end.phase is not None
            assert state.event.phase is not None
            gone = state.event.phase >= end.phase
            assert gone if end.type == "phase_rolled_back" else state.event.phase > end.phase


@settings(max_examples=100)
@given(sessions(), st.data())
def test_withdrawing_a_withdrawal_restores(rows: Rows, data: st.DataObject) -> None:
    """Any row withdrawn and restored, any number of times, leaves the session as it was."""
    if not rows.ledger:
        return
    target = data.draw(st.integers(1, len(rows.ledger)))
    before = rows.replayed()
    after = rows
    for _ in range(2 * data.draw(st.integers(1, 3))):
        after = after.then("decision_withdrawn", f"seq:{target}")
        target = len(after.ledger)
    now = after.replayed()
    assert now.decisions == before.decisions
    assert now.hidden_memories == before.hidden_memories


@settings(max_examples=100)
@given(
    sessions(), st.sampled_from(["phase_reopened", "phase_rolled_back"]), st.sampled_from(PHASES)
)
def test_leaving_a_phase_ends_decisions_and_nothing_else(rows: Rows, step: str, phase: str) -> None:
    """Markers and withdrawals never go stale; decisions of P survive a reopening of P."""
    before = rows.replayed()
    after = rows.then(step, phase=phase).replayed()
    assert verdicts(after) == verdicts(before)
    assert after.hidden_memories == before.hidden_memories
    assert set(in_force(after)) <= set(in_force(before))
    kept = {
        d.event.ref
        for d in before.decisions
        if d.in_force
        and (
            d.event.phase is None
            or d.event.phase < phase
            or (step == "phase_reopened" and d.event.phase == phase)
        )
    }
    assert set(in_force(after)) == kept
    endings = {d.event.ref: d.ended_by for d in before.decisions if not d.in_force}
    assert endings.items() <= {d.event.ref: d.ended_by for d in after.decisions}.items()
