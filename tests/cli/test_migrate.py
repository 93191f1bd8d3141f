"""``migrate`` as a command."""

from __future__ import annotations

import json
from pathlib import Path

from memory_assets.errors import SchemaTooNew
from tests.cli.conftest import Cli


def test_a_home_of_this_version_needs_nothing(tmp_path: Path) -> None:
    """Said in words and as JSON."""
    cli = Cli(tmp_path / "home", tmp_path / "ledgers")
    assert cli("migrate", "--dry-run").out == "Schema version 1: nothing to do.\n"
    assert cli("migrate", "--json").json() == {
        "schema_version": 1,
        "wanted": 1,
        "applied": False,
        "steps": [],
    }


def test_a_newer_home_is_refused_by_name(tmp_path: Path) -> None:
    """The exit code and the code of the error are those of the reference."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "CURRENT").write_text(json.dumps({"schema_version": 99, "generation": 0}))
    done = Cli(home, tmp_path / "ledgers")("migrate", "--json")
    assert done.code == SchemaTooNew.exit_code
    assert done.json()["error"] == "schema-too-new"
