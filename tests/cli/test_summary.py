"""``summary`` on the samples."""

from __future__ import annotations

from tests.cli.conftest import Cli


def test_approved_come_first_then_declined(published: Cli) -> None:
    """Each resolved to its own words; the fact table that was accepted is not shown."""
    found = published("summary", "--session", "2026-01-14-cardioversioni", "--json").json()
    status = [memory["status"] for memory in found["memories"]]
    assert status == sorted(status)
    subjects = [memory["subject"] for memory in found["memories"]]
    assert "Cardioversione elettrica" in subjects
    assert not [s for s in subjects if s.startswith(("fact_", "dim_"))]
    assert found["hidden"]


def test_people_read_the_same(published: Cli) -> None:
    """Headings with counts, references, and what waits."""
    said = published("summary", "--session", "2026-02-02-scompenso").out
    assert "Approved (4)" in said
    assert "Declined (1)" in said
    assert "wait for a reviewer" in said


def test_a_session_that_does_not_exist(published: Cli) -> None:
    """A usage error that says where to look."""
    assert published("summary", "--session", "none").code == 2
