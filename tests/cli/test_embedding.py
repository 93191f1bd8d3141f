"""``memory-assets embedding``: status, estimate, migration and the way back."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from memory_assets.cli.app import build
from memory_assets.embedding.chain import ProviderState
from memory_assets.pipeline.nightly.night import run_night
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.index.provider_states import note_states
from tests.cli.conftest import Cli
from tests.embedding_server import EmbeddingServer
from tests.nights import EMBEDDING, NOW
from tests.providers import FIRST, SECOND, hosted_world


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


@pytest.mark.parametrize("spec", ["local:/models/own", "local:own", "local:hub/own"])
def test_the_last_run_of_a_local_model_is_shown(cli: Cli, spec: str) -> None:
    """Though a folder's path is not in the name that its model goes by."""
    name = spec if spec == "local:hub/own" else "local:own"
    states = [ProviderState("local", name[6:], "first", "closed", 0, 0.0, "", 0, 77, 0.0)]
    note_states(cli.home / "cache", states, now=NOW)
    variables = {**cli.environment, "MEMORY_ASSETS_EMBEDDING": spec}
    done = CliRunner().invoke(build(), ["embedding", "status"], env=variables)
    assert "closed, 77 tokens" in done.stdout


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


def test_what_new_weights_may_cost_and_what_was_spent_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing to pay for holds only while the weights behind the name are the same."""
    with closing(EmbeddingServer()) as first, closing(EmbeddingServer()) as second:
        world = hosted_world(tmp_path, (first, second), monkeypatch)
        world.memories(40)
        world.night()
        variables = {f"MEMORY_ASSETS_{k.upper()}": v for k, v in world.flags.items()}

        def run(*arguments: str) -> str:
            done = CliRunner().invoke(build(), ["embedding", *arguments], env=variables)
            assert done.exit_code == 0
            return " ".join(done.stdout.split())

        said = run("migrate", "--to", FIRST, "--dry-run")
        assert "nothing is embedded, unless other weights answer" in said
        assert "all 40 texts" in said
        assert "tokens were embedded, for 0.0" in run("migrate", "--to", SECOND)
