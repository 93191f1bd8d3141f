"""Import, export, cleanup and erasure as commands: the plan first, then with --apply."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.building import close, row
from tests.cli.conftest import Cli
from tests.nights import World

BY = ("--by", "anna")
TENANT = ("--tenant", "bank")


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    """A bank with one client's memory and a shared one."""
    world = World(tmp_path)
    world.tenants('[tenants.bank]\nreview = "automatic"\n')
    world.session("bank", "s1", row(1, client_id="c7"), row(2), close(3))
    world.night()
    return world


@pytest.fixture(name="cli")
def _cli(world: World) -> Cli:
    """Commands on that home."""
    return Cli(world.home, world.ledgers)


def test_an_erasure_is_planned_first(cli: Cli, world: World) -> None:
    """The plan changes nothing; with --apply the memory is gone, the owner's lines are named."""
    planned = cli("erase", *TENANT, *BY, "--client", "c7")
    assert "1 memory and 1 row would be erased." in planned.out
    assert "s1.jsonl:1" in planned.out.replace("\n", "")
    assert world.workspace.registry().memories.height == 2
    done = cli("erase", *TENANT, *BY, "--client", "c7", "--apply", "--json").json()
    assert (done["applied"], done["memories"], len(done["left_to_the_owner"])) == (True, 1, 1)
    assert Path(done["receipt"]).is_file()
    again = cli("erase", *TENANT, *BY, "--client", "c7", "--apply", "--redact-ledgers")
    assert "0 memories" in again.out
    assert "Generation 2 stands" in again.out, "the first time destroyed what there was"
    assert b"c7" not in (world.ledgers / "bank" / "s1.jsonl").read_bytes()


def test_an_erasure_of_nobody_says_so(cli: Cli) -> None:
    """It neither claims to have published nor leaves a receipt; a slip of the shift key is told."""
    nobody = cli("erase", *TENANT, *BY, "--client", "c8", "--apply")
    assert "0 memories and 0 rows were erased." in nobody.out
    assert "Generation 1 stands" in nobody.out
    assert "Receipt" not in nobody.out
    slip = cli("erase", *TENANT, *BY, "--client", "C7", "--apply", "--json").json()
    assert slip["error"] == "usage"
    assert "'c7'" in slip["what"]


def test_it_must_be_said_what_and_whose(cli: Cli) -> None:
    """No subject, two subjects, and no tenant are refused by name."""
    assert cli("erase", *TENANT, *BY, "--json").json()["error"] == "usage"
    both = cli("erase", *TENANT, *BY, "--client", "a", "--user", "b", "--json")
    assert both.json()["error"] == "usage"
    assert cli("erase", *BY, "--client", "a", "--json").json()["error"] == "unknown-tenant"


def test_a_registry_goes_out_and_in_and_is_cleaned_up(cli: Cli, world: World) -> None:
    """Export, import under another tenant with a table record added, and remove that again."""
    rows = cli("export-registry", *TENANT, "--nl").lines()
    assert [r["id"] for r in rows] == ["mem-0001", "mem-0002"]
    table = {
        **rows[0],
        "id": "mem-0009",
        "type": "table_promoted",
        "subject": "fact_x",
        "decision_seq": 9,
    }
    file = world.root / "registry.jsonl"
    file.write_text("".join(json.dumps(r) + "\n" for r in (*rows, table)))
    arguments = ("import-registry", str(file), "--tenant", "other", *BY)
    assert "3 records would come in, 2 of them searchable." in cli(*arguments).out
    assert cli(*arguments, "--apply", "--json").json()["applied"] is True
    assert "3 known already" in cli(*arguments).out
    plan = cli("legacy-cleanup")
    assert "other/mem-0009" in plan.out
    assert "add --apply" in plan.out
    assert cli("legacy-cleanup", "--apply", "--json").json()["error"] == "usage"
    done = cli("legacy-cleanup", "--apply", *BY, "--json").json()
    assert (done["count"], len(done["receipts"])) == (1, 1)
    assert "No record of this kind is left." in cli("legacy-cleanup").out
