"""``samples`` as a command."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Cli


def test_the_command_says_what_to_run_next(tmp_path: Path) -> None:
    """The last line can be pasted as it is."""
    target = tmp_path / "trial"
    done = Cli(tmp_path / "h", tmp_path / "l")("samples", str(target))
    assert done.code == 0
    assert done.out.splitlines()[-1] == (
        f"memory-assets nightly --ledgers {target}/ledgers --home {target}"
    )
    again = Cli(tmp_path / "h", tmp_path / "l")("samples", str(target))
    assert (again.code, "nothing was copied" in again.err) == (2, True)
