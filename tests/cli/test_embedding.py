"""``memory-assets embedding``: status, estimate, migration and the way back."""

from __future__ import annotations

import pytest

from memory_assets.pipeline.nightly.night import run_night
from memory_assets.pipeline.workspace import Workspace
from tests.cli.conftest import Cli
from tests.nights import EMBEDDING, NOW


@pytest.fixture(name="cli")
def _cli(fresh: Cli) -> Cli:
    """The samples after one night, to be changed."""
    workspace = Workspace.load(
        home=str(fresh.home), ledgers=str(fresh.ledgers), embedding=EMBEDDING
    )
    run_night(workspace, now=NOW, run_id="first-night")
    return fresh


def test_a_migration_from_estimate_to_rollback(cli: Cli) -> None:
    """Each step says what it did and what can be done next; searches answer all the while."""
    before = cli("embedding", "status", "--json").json()
    assert [s["role"] for s in before["spaces"]] == ["serves"]
    likely = cli("embedding", "migrate", "--to", "hashed:128", "--dry-run", "--json").json()
    assert (likely["dry_run"], likely["cached"]) == (True, 0)
    assert likely["to_embed"] == likely["texts"] > 0
    assert cli("embedding", "status", "--json").json()["spaces"] == before["spaces"]

    moved = cli("embedding", "migrate", "--to", "hashed:128")
    assert moved.code == 0
    assert "hashed:128 serves from generation" in moved.out
    assert "rollback" in moved.out
    assert "different texts" in moved.err
    after = cli("embedding", "status", "--json").json()
    assert [(s["model"], s["role"]) for s in after["spaces"]] == [
        ("hashed:128", "serves"),
        ("hashed:64", "waits"),
    ]
    assert after["migrated_from"] == "hashed:64"
    assert cli("search", "ablazione", "--tenant", "clinica", "--json").code == 0
    assert "hashed:64" in cli("embedding", "status").out

    back = cli("embedding", "rollback", "--json").json()
    assert (back["swapped"], back["spec"]) == (True, "hashed:64")
    assert cli("embedding", "status", "--json").json()["migrated_from"] == ""


def test_a_model_that_does_not_exist_is_refused(cli: Cli) -> None:
    """The error lists the known ones; nothing is published."""
    done = cli("embedding", "migrate", "--to", "nobody:knows", "--json")
    assert (done.code, done.json()["error"]) == (2, "settings-invalid")
    assert "packaged:" in done.json()["remedy"]


def test_without_a_former_space_there_is_no_way_back(cli: Cli) -> None:
    """The error says how a former space comes to be."""
    done = cli("embedding", "rollback", "--json")
    assert (done.code, done.json()["error"]) == (2, "usage")
    assert "migrate" in done.json()["remedy"]
