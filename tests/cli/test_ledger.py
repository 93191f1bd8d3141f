"""``ledger lint`` and ``ledger schema`` as commands."""

from __future__ import annotations

from pathlib import Path

import jsonschema

from memory_assets.cli.ledger import LINT_FAILED
from memory_assets.domain.ledger_schema import ledger_row_schema
from memory_assets.errors import LedgerError
from tests.building import close, row, write_session
from tests.cli.conftest import Cli


def test_lint_ends_with_an_error_code_when_rows_would_be_refused(
    published: Cli, tmp_path: Path
) -> None:
    """Sound: 0. A refused line: the exit code of ledger errors, with place and remedy."""
    sound = write_session(tmp_path, "clinic", "sound", [row(1), close(2)])
    assert published("ledger", "lint", str(sound)).code == 0
    bad = write_session(tmp_path, "clinic", "bad", [row(1), b"{]", close(3)])
    done = published("ledger", "lint", str(bad))
    assert done.code == LINT_FAILED == LedgerError.exit_code
    assert f"{bad}:2: error not-json" in done.out
    assert "Repair the line" in done.out


def test_lint_of_nothing_is_a_usage_error(published: Cli, tmp_path: Path) -> None:
    """A path that does not exist is told apart from a bad ledger."""
    assert published("ledger", "lint", str(tmp_path / "none")).code == 2


def test_the_schema_can_be_piped_into_a_validator(published: Cli) -> None:
    """With and without --json it is the schema itself, for both files of a session."""
    for file in ("ledger", "companion"):
        done = published("ledger", "schema", "--of", file)
        assert done.json() == published("ledger", "schema", "--of", file, "--json").json()
        assert done.json() == ledger_row_schema(file)
    jsonschema.validate(row(1), published("ledger", "schema").json())
