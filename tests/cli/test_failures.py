"""Errors, interruptions and closed pipes as messages and exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import NoReturn

import pytest

from memory_assets.cli.docs import error_tree
from memory_assets.cli.failures import INTERRUPTED, PIPE_CLOSED, guarded
from memory_assets.errors import MemoryAssetsError
from tests.cli.conftest import Cli

ERRORS = [error for _, error in error_tree()]


def _raise(error: BaseException) -> NoReturn:
    raise error


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: e.__name__)
def test_every_named_error_gets_its_exit_code(
    error: type[MemoryAssetsError], capsys: pytest.CaptureFixture[str]
) -> None:
    """Code, exit code, what, where and remedy reach programs and people."""
    failure = error("It broke.", where="file:3", remedy="mend it.")
    assert guarded(lambda: _raise(failure), as_json=True, debug=False) == error.exit_code != 0
    said = capsys.readouterr()
    assert json.loads(said.out) == {
        "error": error.code,
        "what": "It broke.",
        "where": "file:3",
        "remedy": "mend it.",
        "exit_code": error.exit_code,
    }
    assert said.err.splitlines() == [
        f"Error ({error.code}): It broke.",
        "  where:      file:3",
        "  what to do: mend it.",
    ]


def test_an_unexpected_error_is_short(capsys: pytest.CaptureFixture[str]) -> None:
    """One line and the way to the details; no traceback unless it was asked for."""
    failure = KeyError("lost")
    assert guarded(lambda: _raise(failure), as_json=False, debug=False) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "KeyError: 'lost'" in said.err
    assert "--debug" in said.err
    assert "Traceback" not in said.err


def test_debug_shows_the_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    """Of named and of unexpected errors alike, on stderr."""
    for failure in (KeyError("lost"), MemoryAssetsError("It broke.")):
        assert guarded(lambda f=failure: _raise(f), as_json=True, debug=True) == 1  # type: ignore[misc]
        said = capsys.readouterr()
        assert "Traceback" in said.err
        json.loads(said.out)


def test_an_interruption_is_no_error_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code that shells expect, and what to do next."""
    assert guarded(lambda: _raise(KeyboardInterrupt()), as_json=False, debug=False) == INTERRUPTED
    assert "run the same command again" in capsys.readouterr().err


def test_success_keeps_its_own_code() -> None:
    """Zero, or what the command says about what it found."""
    assert guarded(lambda: 0, as_json=False, debug=False) == 0
    assert guarded(lambda: 3, as_json=False, debug=False) == 3


@pytest.mark.e2e
def test_a_closed_pipe_ends_quietly(published: Cli) -> None:
    """``| head`` gets its line, and stderr stays empty."""
    env = {**os.environ, **published.environment}
    with subprocess.Popen(
        [sys.executable, "-m", "memory_assets", "ledger", "schema"],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        said = child.stderr.read()
        code = child.wait()
    assert (code, said) == (PIPE_CLOSED, b"")


@pytest.mark.e2e
def test_control_c_stops_a_real_command(published: Cli) -> None:
    """SIGINT in the middle of work: exit code 130 and one sentence."""
    code = (
        "import sys, time\n"
        "import memory_assets.pipeline.inspect.sessions as sessions\n"
        "def slow(*_, **__):\n"
        "    sys.stderr.write('working\\n'); sys.stderr.flush(); time.sleep(60)\n"
        "sessions.decision_lines = slow\n"
        "from memory_assets.cli.app import main\n"
        "sys.argv = ['memory-assets', 'decisions']\n"
        "main()\n"
    )
    env = {**os.environ, **published.environment}
    with subprocess.Popen([sys.executable, "-c", code], env=env, stderr=subprocess.PIPE) as child:
        assert child.stderr is not None
        assert child.stderr.readline() == b"working\n"
        time.sleep(0.1)
        child.send_signal(signal.SIGINT)
        said = child.stderr.read()
        assert child.wait() == INTERRUPTED
    assert said.startswith(b"Interrupted.")
