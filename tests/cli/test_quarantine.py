"""``quarantine list`` and ``show`` on the samples."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Cli
from tests.nights import World


def test_the_place_that_is_listed_can_be_shown(published: Cli) -> None:
    """Copying a place from the list into ``show`` gives the line."""
    (line,) = published("quarantine", "list", "--nl").lines()
    said = published("quarantine", "show", line["place"], "--tenant", line["tenant_id"]).out
    assert "decision_withdrawn" in said
    assert "repaired in place" in " ".join(said.split())


def test_an_empty_quarantine_says_so(tmp_path: Path) -> None:
    """Before any night there is nothing in it, and that is no error."""
    world = World(tmp_path)
    done = Cli(world.home, world.ledgers)("quarantine", "list")
    assert (done.code, done.out) == (0, "The quarantine is empty.\n")
