"""``history`` on the samples."""

from __future__ import annotations

from tests.cli.conftest import Cli


def test_the_parts_of_a_history(published: Cli) -> None:
    """Decisions, events and generations of a memory that two sessions stated."""
    said = published("history", "mem-0001", "--tenant", "banca").out
    assert said.startswith("banca/mem-0001  Assets under management")
    for part in ("Decisions", "Events", "Generations", "first-night"):
        assert part in said
    assert "Review decisions" not in said


def test_generations_name_their_run(published: Cli) -> None:
    """The run id is the one that the night was given."""
    found = published("history", "mem-0001", "--tenant", "banca", "--json").json()
    assert [g["run_id"] for g in found["generations"]] == ["first-night"]
    assert {e["session_id"] for e in found["events"]} == {"2026-01-13-aum", "2026-01-15-fees"}
