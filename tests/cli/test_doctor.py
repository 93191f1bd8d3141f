"""``doctor``: readable, and its exit code can be trusted by a script."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Cli


def test_it_reads_well(published: Cli) -> None:
    """Areas, settings with origin, findings with what mends them, and a count at the end."""
    done = published("doctor")
    assert done.code == 0
    for word in ("environment", "settings", "model", "storage", "locks", "drift"):
        assert f"\n{word}\n" in "\n" + done.out
    assert "variable MEMORY_ASSETS_HOME" in " ".join(done.out.split())
    assert "-> memory-assets quarantine list" in done.out
    assert "0 error(s), 1 warning(s)" in done.out


def test_an_error_sets_the_exit_code(tmp_path: Path) -> None:
    """A ledgers folder that is not there: exit code 1, in text and in JSON."""
    cli = Cli(tmp_path / "home", tmp_path / "nowhere")
    assert cli("doctor").code == 1
    done = cli("doctor", "--json")
    assert (done.code, done.json()["ok"]) == (1, False)
