"""The commands about tiers, on real samples."""

from __future__ import annotations

from memory_assets.cli.command import HOME_VARIABLE
from tests.cli.conftest import Cli


def _night(cli: Cli) -> None:
    assert cli("nightly").code == 0


def test_a_block_is_printed_and_stays_as_it_began(fresh: Cli) -> None:
    """An override makes a memory core; the block of before is still there by its generation."""
    _night(fresh)
    before = fresh("core", "--tenant", "banca", "--json").json()
    assert (before["text"], before["generation"]) == ("", 1)
    done = fresh("tiers", "set", "mem-0001", "--tier", "core", "--tenant", "banca", "--by", "anna")
    assert done.code == 0, done.err
    _night(fresh)
    block = fresh("core", "--tenant", "banca")
    assert block.out.startswith("- ")
    shown = fresh("core", "--tenant", "banca", "--json").json()
    assert shown["memory_ids"] == ["mem-0001"]
    assert shown["bytes"] == len(block.out.encode()) <= shown["most_bytes"] == 2048
    assert fresh("core", "--tenant", "banca", "--as-of", "1").out == ""
    rows = fresh("tiers", "history", "--tenant", "banca", "--json").json()
    assert [r["core"] for r in rows] == [0, 1]


def test_a_client_persona_sees_its_own_profile_only(fresh: Cli) -> None:
    """And needs a client to have one."""
    _night(fresh)
    assert fresh("core", "--tenant", "banca", "--persona", "client").out == ""
    denied = fresh(
        "tiers", "set", "mem-0001", "--tier", "core", "--tenant", "banca", "--by", "x",
        "--persona", "client",
    )  # fmt: skip
    assert denied.code == 2


def test_judging_tells_what_is_due(published: Cli) -> None:
    """A dry run writes nothing; young memories stay where they are."""
    found = published("tiers", "judge", "--dry-run", "--json").json()
    assert found["judged"] == sum(found["by_tier"].values()) > 0
    assert found["by_tier"].keys() == {"recall"}


def test_a_tenant_must_be_named(published: Cli) -> None:
    """Without one nothing is told."""
    assert HOME_VARIABLE in published.environment
    assert published("core").code == 2
    assert published("tiers", "history").code == 2
