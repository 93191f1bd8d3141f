"""The README is true: each of its commands runs, and its example of the API works."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
BIN = Path(sys.executable).parent


def blocks(language: str) -> list[str]:
    """The README's fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    """Every command line of the README, in order."""
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    return [line for line in lines if line.strip() and not line.startswith("#")]


def run(command: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """The command as a user would run it with the environment's programs on the path."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("MEMORY_ASSETS_")}
    env.pop("DAGSTER_HOME", None)
    env |= {"PATH": f"{BIN}{os.pathsep}{env['PATH']}", **variables}
    return subprocess.run(
        shlex.split(command), cwd=cwd, env=env, capture_output=True, text=True, timeout=600
    )


def test_every_command_but_make_test_is_run_here() -> None:
    """A command that the README gains must be of a kind that these tests run."""
    known = ("memory-assets ", "make nightly", "make test", "dg ", "make setup")
    assert commands()
    assert [c for c in commands() if not c.startswith(known)] == []


def test_the_commands_work_in_the_order_of_the_readme(tmp_path: Path) -> None:
    """Each ``memory-assets`` line ends well in a folder that knows only the lines before it.

    Lint ends with 3, as the README says: the samples hold a bad line on purpose.
    """
    for command in commands():
        if command.startswith("memory-assets "):
            done = run(command, tmp_path, MEMORY_ASSETS_EMBEDDING="hashed:256")
            expected = 3 if "ledger lint" in command else 0
            assert done.returncode == expected, f"{command}\n{done.stdout}\n{done.stderr}"
            assert done.stdout.strip(), command


def test_the_python_example_writes_a_ledger(tmp_path: Path) -> None:
    """The example of the API runs as printed and leaves a ledger that is in order."""
    (example,) = blocks("python")
    done = run(f"{shlex.quote(sys.executable)} -c {shlex.quote(example)}", tmp_path)
    assert done.returncode == 0, done.stderr
    checked = run("memory-assets ledger lint demo/ledgers", tmp_path)
    assert checked.returncode == 0, checked.stdout


def test_dagster_loads_the_definitions() -> None:
    """What the README says to the Dagster command line works from the top of a checkout."""
    for command in commands():
        if command.startswith("dg "):
            done = run(command, ROOT)
            assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.real_model
@pytest.mark.slow
def test_make_nightly_prints_a_night(tmp_path: Path) -> None:
    """The first command of the README, with the packaged model and without a network."""
    done = run(
        f"make nightly HOME_DIR={shlex.quote(str(tmp_path / 'home'))}", ROOT, HF_HUB_OFFLINE="1"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for word in ("sessions", "events", "effective decisions", "candidates", "memories", "Time"):
        assert word in done.stdout
    assert (tmp_path / "home" / "CURRENT").exists()
