"""Replay: what is in force, what ended the rest, and what marks do. See also the golden ledgers."""

from __future__ import annotations

import pytest

from memory_assets.domain.events import DECISION_TYPES, PHASES
from tests.building import close, in_force, note, replay, row, verdicts


@pytest.mark.parametrize("left", range(len(PHASES)))
@pytest.mark.parametrize("type", sorted(DECISION_TYPES))
def test_a_reopening_keeps_its_phase_and_a_rollback_does_not(left: int, type: str) -> None:
    """For every phase and every type of decision: which of eight decisions stay."""
    ledger = [row(n, type, phase=p) for n, p in enumerate(PHASES, 1)]
    reopened = replay([*ledger, row(9, "phase_reopened", phase=PHASES[left])])
    rolled_back = replay([*ledger, row(9, "phase_rolled_back", phase=PHASES[left])])
    assert in_force(reopened) == list(range(1, left + 2))
    assert in_force(rolled_back) == list(range(1, left + 1))
    assert {d.ended_reason for d in reopened.decisions} <= {None, "phase_reopened"}
    assert {d.ended_reason for d in rolled_back.decisions} <= {None, "phase_rolled_back"}


def test_only_earlier_decisions_go_stale() -> None:
    """A decision made after its phase was left and entered again holds."""
    session = replay([row(1), row(2, "phase_rolled_back"), row(3), row(4, "phase_reopened")])
    assert in_force(session) == [3]


def test_a_decision_without_a_phase_cannot_go_stale() -> None:
    """Only memory_event may lack a phase: no phase is left that it belongs to."""
    assert in_force(replay([row(1, "memory_event"), row(2, "phase_rolled_back")])) == [1]


@pytest.mark.parametrize("depth", range(9))
def test_a_chain_of_withdrawals_alternates(depth: int) -> None:
    """Each withdrawal names the one before: an even number of them leaves the decision."""
    chain = [note(n, "decision_withdrawn", f"seq:{n - 1}") for n in range(2, depth + 2)]
    session = replay([row(1), *chain])
    assert in_force(session) == ([1] if depth % 2 == 0 else [])
    assert session.decisions[0].ended_by == (None if depth % 2 == 0 else 2)


def test_two_withdrawals_of_one_decision_both_must_fall() -> None:
    """Withdrawing one of them leaves the other."""
    twice = [row(1), note(2, "decision_withdrawn", "seq:1"), note(3, "decision_withdrawn", "seq:1")]
    assert in_force(replay([*twice, note(4, "decision_withdrawn", "seq:2")])) == []
    both = [
        *twice,
        note(4, "decision_withdrawn", "seq:2"),
        note(5, "decision_withdrawn", "seq:3"),
    ]
    assert in_force(replay(both)) == [1]


@pytest.mark.parametrize("step", ["phase_reopened", "phase_rolled_back"])
def test_a_withdrawn_step_is_as_if_it_had_not_been(step: str) -> None:
    """Also when the withdrawal comes from the companion file, much later."""
    ledger = [row(1, phase="F4"), row(2, step, phase="F2"), close(3)]
    assert in_force(replay(ledger)) == []
    undone = replay(ledger, [note(1, "decision_withdrawn", "seq:2", after_seq=3)])
    assert in_force(undone) == [1]


def test_a_withdrawal_outlives_the_phase_it_was_written_in() -> None:
    """What was withdrawn stays withdrawn when everything is rolled back to the start."""
    ledger = [
        row(1, phase="F1"),
        note(2, "decision_withdrawn", "seq:1", phase="F7"),
        row(3, "phase_rolled_back", phase="F2"),
    ]
    session = replay(ledger)
    assert session.decisions[0].ended_by == 2


def test_the_latest_marker_in_force_gives_the_verdict() -> None:
    """Promoted, declined, promoted again; then the last two are withdrawn one by one."""
    ledger = [
        row(1),
        note(2, "memory_promoted", "seq:1"),
        note(3, "memory_promotion_declined", "seq:1"),
        note(4, "memory_promoted", "seq:1"),
    ]
    assert verdicts(replay(ledger)) == {1: ("promoted", 4)}
    ledger.append(note(5, "decision_withdrawn", "seq:4"))
    assert verdicts(replay(ledger)) == {1: ("declined", 3)}
    ledger.append(note(6, "decision_withdrawn", "seq:3"))
    assert verdicts(replay(ledger)) == {1: ("promoted", 2)}
    ledger.append(note(7, "decision_withdrawn", "seq:5"))
    assert verdicts(replay(ledger)) == {1: ("promoted", 4)}


def test_a_marker_between_ledger_rows_takes_its_place() -> None:
    """A companion row comes right after the row that it follows, not at the end."""
    ledger = [row(1), note(2, "memory_promoted", "seq:1"), close(3)]
    early = [note(1, "memory_promotion_declined", "seq:1", after_seq=1)]
    late = [note(1, "memory_promotion_declined", "seq:1", after_seq=2)]
    assert verdicts(replay(ledger, early)) == {1: ("promoted", 2)}
    assert verdicts(replay(ledger, late)) == {1: ("declined", -1)}


def test_a_marker_on_a_decision_that_ended_waits_for_its_return() -> None:
    """The verdict stays with the decision, in force or not."""
    ledger = [
        row(1),
        note(2, "decision_withdrawn", "seq:1"),
        note(3, "memory_promoted", "seq:1"),
    ]
    session = replay(ledger)
    assert (in_force(session), verdicts(session)) == ([], {1: ("promoted", 3)})
    ledger.append(note(4, "decision_withdrawn", "seq:2"))
    assert in_force(replay(ledger)) == [1]


@pytest.mark.parametrize("marker", ["memory_promoted", "memory_promotion_declined"])
@pytest.mark.parametrize("type", sorted(DECISION_TYPES - {"concept_clarified"}))
def test_a_marker_on_anything_but_a_clarification_is_ignored_and_listed(
    marker: str, type: str
) -> None:
    """An old gate may have promoted a table: it is no memory here either."""
    session = replay([row(1, type), note(2, marker, "seq:1")])
    assert verdicts(session) == {}
    assert [(i.event.ref, i.code) for i in session.ignored] == [(2, "marker-not-reusable")]


@pytest.mark.parametrize(
    ("ledger", "companion", "refs"),
    [
        ([row(1), note(2, "decision_withdrawn", "m:1")], [], [2]),
        ([row(1)], [note(1, "memory_promoted", "seq:2", after_seq=1)], [-1]),
        (
            [row(1), note(2, "decision_withdrawn", "m:1"), row(3)],
            [note(1, "memory_proposed", "mem-0001", after_seq=2)],
            [2],
        ),
        (
            [note(1, "decision_withdrawn", "m:1"), note(2, "decision_withdrawn", "seq:1"), row(3)],
            [],
            [1, 2],
        ),
    ],
)
def test_a_row_that_names_no_earlier_row_has_no_effect(
    ledger: list[dict[str, object]], companion: list[dict[str, object]], refs: list[int]
) -> None:
    """Not even on rows that name it in turn: they dangle too."""
    session = replay(ledger, companion)
    assert sorted(d.event.ref for d in session.dangling) == sorted(refs)
    assert {d.code for d in session.dangling} == {"bad-reference"}
    assert all(d.in_force and d.verdict is None for d in session.decisions)


def test_finished_is_said_by_the_last_ledger_row() -> None:
    """Later ledger rows reopen the session; companion rows do not, unless they undo the close."""
    assert not replay([]).finished
    assert not replay([row(1)]).finished
    assert replay([row(1), close(2)]).finished
    assert not replay([row(1), close(2), row(3, "memory_proposed")]).finished
    assert replay([row(1), close(2), row(3), close(4)]).finished
    marked = [note(1, "memory_promoted", "seq:1", after_seq=2)]
    assert replay([row(1), close(2)], marked).finished
    undone = [note(1, "decision_withdrawn", "seq:2", after_seq=2)]
    assert not replay([row(1), close(2)], undone).finished
    redone = [*undone, note(2, "decision_withdrawn", "m:1", after_seq=2)]
    assert replay([row(1), close(2)], redone).finished


def test_legacy_rejections_decline_a_row_or_hide_a_memory() -> None:
    """Both forms lose their effect when they are withdrawn."""
    ledger = [
        row(1),
        note(2, "memory_rejected", "seq:1"),
        note(3, "memory_rejected", " mem-0042 "),
        note(4, "memory_rejected", "mem-0043"),
        note(5, "decision_withdrawn", "seq:4"),
    ]
    session = replay(ledger)
    assert verdicts(session) == {1: ("declined", 2)}
    assert session.hidden_memories == {"mem-0042"}
    assert session.ignored == ()


def test_unknown_types_are_counted_and_do_nothing() -> None:
    """A row of a later version is listed with its type."""
    session = replay([row(1), row(2, "phase_forgotten", phase="F1", detail="seq:1")])
    assert in_force(session) == [1]
    assert [i.code for i in session.ignored] == ["unknown-type"]
    assert "phase_forgotten" in session.ignored[0].reason
