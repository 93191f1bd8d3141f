"""Progress is shown to people who watch, and to nobody else."""

from __future__ import annotations

import io

import pytest

from memory_assets.cli.progress import bars, spinner


class _Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Yes."""
        return True


def test_a_terminal_sees_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    """One bar per kind of work, on stderr."""
    terminal = _Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with bars() as told:
        told("reading ledgers", 1, 2)
        told("reading ledgers", 2, 2)
    assert "reading ledgers" in terminal.getvalue()
    with spinner("running"):
        pass
    assert "running" in terminal.getvalue()


def test_a_pipe_sees_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Logs and scripts are spared."""
    with bars() as told, spinner("running"):
        told("reading ledgers", 1, 2)
    assert capsys.readouterr() == ("", "")
