"""The review file: lines of both kinds, what editors do to it, and crashes."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from memory_assets.domain.review import ProposalDecision, ReviewDecision
from memory_assets.storage.review_log import append_review_decisions, read_review_log

WHEN = datetime(2026, 2, 1, tzinfo=UTC)
CANDIDATE = ReviewDecision(
    tenant_id="clinic",
    session_id="s1",
    decision_seq=3,
    verdict="accept",
    reviewer="anna",
    decided_at=WHEN,
    content_sha256="ab",
)
PROPOSAL = ProposalDecision(
    tenant_id="clinic",
    proposal="retire:mem-0003",
    verdict="decline",
    reviewer="anna",
    decided_at=WHEN,
    content_sha256="cd",
)


def test_both_kinds_come_back_as_written(tmp_path: Path) -> None:
    """Candidates and proposals share one file and keep their line numbers."""
    path = tmp_path / "review" / "decisions.jsonl"
    append_review_decisions(path, [CANDIDATE, PROPOSAL, CANDIDATE])
    log = read_review_log(path)
    assert log.decisions == ((1, CANDIDATE), (3, CANDIDATE))
    assert log.proposals == ((2, PROPOSAL),)
    assert [line for line, _ in log.lines()] == [1, 2, 3]
    assert log.refused == ()


def test_what_an_editor_adds_is_no_fault(tmp_path: Path) -> None:
    """A byte-order mark, Windows line ends and empty lines are read over."""
    path = tmp_path / "decisions.jsonl"
    line = msgspec.json.encode(CANDIDATE)
    path.write_bytes(b"\xef\xbb\xbf" + line + b"\r\n\r\n" + line)
    log = read_review_log(path)
    assert ([n for n, _ in log.decisions], log.refused) == ([1, 3], ())


@pytest.mark.parametrize(
    "bad",
    [b"[]", b"null", b"\xff\xfe", b'{"proposal": 3}', b'{"tenant_id": "clinic"}', b"\x00\x00"],
)
def test_a_bad_line_is_kept_with_its_bytes(tmp_path: Path, bad: bytes) -> None:
    """Whatever it holds, it is refused alone and the next line counts."""
    path = tmp_path / "decisions.jsonl"
    path.write_bytes(bad + b"\n" + msgspec.json.encode(CANDIDATE) + b"\n")
    log = read_review_log(path)
    assert [(r.line, r.code, r.raw) for r in log.refused] == [(1, "bad-line", bad)]
    assert [n for n, _ in log.decisions] == [2]


def test_a_torn_last_line_never_swallows_the_next_one(tmp_path: Path) -> None:
    """Half a line is left alone while it is last, and refused once another one follows."""
    path = tmp_path / "decisions.jsonl"
    append_review_decisions(path, [CANDIDATE])
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:40])
    assert read_review_log(path).refused == ()
    append_review_decisions(path, [PROPOSAL])
    log = read_review_log(path)
    assert [r.line for r in log.refused] == [2]
    assert log.proposals == ((3, PROPOSAL),)
