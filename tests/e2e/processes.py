"""Processes that a test starts, waits for, and ends: each with a log that a failure shows."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeVar

_T = TypeVar("_T")


class Service:
    """One process in a session of its own; its output goes to ``<name>.log`` in its folder."""

    def __init__(
        self, name: str, command: Sequence[str], folder: Path, environment: Mapping[str, str]
    ) -> None:
        self.name = name
        self.command = list(command)
        self.folder = folder
        self.environment = {**os.environ, **environment}
        self.log = folder / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Service:
        """Starts the process."""
        with self.log.open("ab") as out:
            self._process = subprocess.Popen(
                self.command,
                cwd=self.folder,
                env=self.environment,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self

    def check(self) -> bool:
        """True while the process runs; fails with the end of its log when it has ended."""
        assert self._process is not None
        code = self._process.poll()
        assert code is None, f"{self.name} ended with {code}:\n{self.tail()}"
        return True

    def tail(self, characters: int = 4000) -> str:
        """The end of the log."""
        return self.log.read_text(errors="replace")[-characters:] if self.log.exists() else ""

    def stop(self, *, grace: float = 15, first: signal.Signals = signal.SIGTERM) -> int:
        """SIGTERM, and SIGKILL for whatever of its session is left; the exit code."""
        process, self._process = self._process, None
        if process is None:
            return 0
        process.send_signal(first)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(grace)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        return process.wait()

    def __enter__(self) -> Service:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def free_port() -> int:
    """A port on loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for(look: Callable[[], _T], *, seconds: float, what: str, every: float = 0.5) -> _T:
    """The first truthy answer of ``look``; fails when there is none in time."""
    until = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < until, f"waited {seconds:g} s in vain for {what}"
        time.sleep(every)
