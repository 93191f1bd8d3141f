"""``rebuild`` as a command."""

from __future__ import annotations

from pathlib import Path

from tests.building import close, row
from tests.cli.conftest import Cli
from tests.nights import World


def test_a_rebuilt_home_answers_like_the_old_one(tmp_path: Path) -> None:
    """The counts are said, and the new home lists the same memories."""
    world = World(tmp_path)
    world.tenants('[tenants.bank]\nreview = "automatic"\n')
    world.session("bank", "s1", row(1), row(2), close(3))
    world.night()
    target = tmp_path / "again"
    done = Cli(world.home, world.ledgers)("rebuild", "--into", str(target))
    assert done.code == 0, done.err
    assert done.out.startswith("2 memories and 0 corroborations in")
    listing = ("registry", "list", "--tenant", "bank", "--nl")
    ids = [m["memory_id"] for m in Cli(world.home, world.ledgers)(*listing).lines()]
    assert ids == ["mem-0001", "mem-0002"]
    assert [m["memory_id"] for m in Cli(target, world.ledgers)(*listing).lines()] == ids


def test_what_is_lost_is_listed_and_sets_the_exit_code(tmp_path: Path) -> None:
    """A ledger that is gone takes its memory with it, and that is told."""
    world = World(tmp_path)
    world.tenants('[tenants.bank]\nreview = "automatic"\n')
    world.session("bank", "s1", row(1), close(2))
    world.session("bank", "s2", row(2), close(3))
    world.night()
    (world.ledgers / "bank" / "s1.jsonl").unlink()
    done = Cli(world.home, world.ledgers)("rebuild", "--into", str(tmp_path / "again"))
    assert done.code == 1
    assert "bank/s1: mem-0001" in done.out
