"""The feedback file: append-only, each item once, erasable."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memory_assets.storage.feedback_log import (
    Feedback,
    append_feedback,
    forget_feedback,
    read_feedback,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def given(**changes: Any) -> Feedback:
    fields: dict[str, Any] = {
        "tenant_id": "clinic",
        "memory_id": "mem-0001",
        "kind": "wrong",
        "why": "the year is missing",
        "given_by": "anna",
        "given_at": NOON,
        "content_sha256": "h",
    }
    return Feedback(**fields | changes)


def test_what_was_given_is_read_back(tmp_path: Path) -> None:
    """Items in the order in which they came."""
    path = tmp_path / "review" / "feedback.jsonl"
    items = given(), given(kind="useful")
    for item in items:
        append_feedback(path, item)
    assert read_feedback(path).items == items


def test_saying_the_same_twice_is_one_item(tmp_path: Path) -> None:
    """Repetition is recognised by who said what of which memory, not by the time."""
    path = tmp_path / "feedback.jsonl"
    for day in (1, 2):
        append_feedback(path, given(given_at=NOON.replace(day=day)))
    append_feedback(path, given(given_by="berta"))
    assert [i.given_by for i in read_feedback(path).items] == ["anna", "berta"]


def test_bad_lines_are_counted_and_a_torn_one_waits(tmp_path: Path) -> None:
    """One broken line hides no other."""
    path = tmp_path / "feedback.jsonl"
    append_feedback(path, given())
    whole = path.read_bytes()
    path.write_bytes(b"{\n" + whole + whole[:20])
    log = read_feedback(path)
    assert (len(log.items), log.refused) == (1, 1)
    assert read_feedback(tmp_path / "none").items == ()


def test_feedback_about_an_erased_memory_goes_with_it(tmp_path: Path) -> None:
    """Its words may quote the memory: no byte of them stays, and other items do."""
    path = tmp_path / "feedback.jsonl"
    gone, kept = given(why="quotes the secret"), given(memory_id="mem-0002")
    for item in (gone, kept):
        append_feedback(path, item)
    assert forget_feedback(path, {("clinic", "mem-0001")}) == 1
    assert b"secret" not in path.read_bytes()
    assert read_feedback(path).items == (kept,)
    assert forget_feedback(path, {("clinic", "mem-0001")}) == 0
    assert forget_feedback(tmp_path / "none", set()) == 0
