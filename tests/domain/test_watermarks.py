"""Append-only on rows: grown, repaired, violated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.domain.parsing import ParsedLedger
from memory_assets.domain.watermarks import Growth, compare_rows, digests_without
from tests.building import jsonl, note, parse, row


def _parsed(*seqs: int) -> ParsedLedger:
    return parse(jsonl(row(n) for n in seqs))


@pytest.mark.parametrize(
    ("before", "now", "strict", "lenient"),
    [
        ((), (), Growth("none"), Growth("none")),
        ((), (1,), Growth("grown"), Growth("grown")),
        ((1, 3), (1, 3), Growth("none"), Growth("none")),
        ((1, 3), (1, 3, 4), Growth("grown"), Growth("grown")),
        ((1, 3), (1, 2, 3), Growth("violated", 2), Growth("repaired")),
        ((1, 3), (1, 2, 3, 4), Growth("violated", 2), Growth("repaired")),
        ((2, 3), (1, 2, 3), Growth("violated", 1), Growth("repaired")),
        ((1, 3), (1,), Growth("violated", 2), Growth("violated", 2)),
        ((1, 3), (3,), Growth("violated", 1), Growth("violated", 1)),
        ((1, 3), (), Growth("violated", 1), Growth("violated", 1)),
        ((1, 3), (1, 4), Growth("violated", 2), Growth("violated", 2)),
        ((1, 3), (1, 2), Growth("violated", 2), Growth("violated", 2)),
    ],
)
def test_how_a_ledger_changed(
    before: tuple[int, ...], now: tuple[int, ...], strict: Growth, lenient: Growth
) -> None:
    """Rows may stand between old ones only where lines had been refused; none may go."""
    earlier = _parsed(*before).digests
    assert compare_rows(earlier, _parsed(*now), had_refused_lines=False) == strict
    assert compare_rows(earlier, _parsed(*now), had_refused_lines=True) == lenient


def test_a_changed_row_is_a_violation_and_is_named() -> None:
    """The message can point at the row."""
    before = parse(jsonl([row(1), row(2), row(3)])).digests
    now = parse(jsonl([row(1), row(2, detail="other"), row(3)]))
    assert compare_rows(before, now, had_refused_lines=True) == Growth("violated", 2)


def test_two_rows_exchanged_are_a_violation() -> None:
    """Order is part of what was accepted, even where numbers would allow it."""
    a, b = row(1, detail="a"), row(2, detail="b")
    before = parse(jsonl([a, b])).digests
    now = parse(jsonl([b | {"seq": 1}, a | {"seq": 2}]))
    assert compare_rows(before, now, had_refused_lines=True).change == "violated"


def test_rows_refused_by_the_replay_leave_no_digest() -> None:
    """They may be repaired in place, like any line that was refused at once."""
    ledger = parse(jsonl([row(1), note(2, "decision_withdrawn", "m:9"), row(3)]))
    assert digests_without(ledger, {2}) == ledger.digests[:8] + ledger.digests[16:]
    assert digests_without(ledger, set()) == ledger.digests


SEQS = st.sets(st.integers(1, 12)).map(sorted)


@given(SEQS, SEQS, st.booleans())
def test_only_what_keeps_every_old_row_is_accepted(
    before: list[int], now: list[int], lenient: bool
) -> None:
    """Whatever the two files hold."""
    growth = compare_rows(_parsed(*before).digests, _parsed(*now), had_refused_lines=lenient)
    if now[: len(before)] == before:
        assert growth.change == ("none" if now == before else "grown")
    elif lenient and set(before) <= set(now):
        assert growth.change == "repaired"
    else:
        assert growth.change == "violated"
        assert 1 <= growth.lost_row <= len(before)
