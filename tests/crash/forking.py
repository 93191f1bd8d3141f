"""Processes for the price of a fork: one parent imports everything, its children do the work.

The parent must stay clean: it imports Lance and Polars but never uses them, so that no thread of
theirs exists when it forks. It is a process of its own, driven over its standard streams.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import subprocess
import sys
import time
import traceback
import warnings
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from memory_assets.errors import MemoryAssetsError
from memory_assets.storage.failpoints import VARIABLE

ROOT = Path(__file__).parents[2]
Step = list[str]
"""``night``, ``look``, ``publish`` or ``watch``, and its arguments."""


class Outcome:
    """How a child ended."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.killed: bool = answer["signal"] == signal.SIGKILL
        self.exit_code: int = answer["exit_code"]
        self.results: list[Any] = answer["results"]
        self.seconds: float = answer["seconds"]


class Forker:
    """The parent process, as its driver sees it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "tests.crash.forking"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "2"},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the parent."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def run(
        self,
        *steps: Step,
        failpoint: str = "",
        kill_after: float = 0.0,
        kill_at_call: int = 0,
        file_limit: int = 0,
        background: bool = False,
    ) -> Outcome:
        """Runs the steps one after the other in one child, to their end or to its own.

        ``failpoint`` kills it there, ``kill_after`` after so many seconds, ``kill_at_call`` at the
        Nth file operation; ``file_limit`` bounds the size of any file it writes.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        order = {
            "steps": steps,
            "failpoint": failpoint,
            "kill_after": kill_after,
            "kill_at_call": kill_at_call,
            "file_limit": file_limit,
            "background": background,
        }
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError("the forking process has ended; its error is above")
        return Outcome(json.loads(answer))


def _child(order: dict[str, Any], out: int) -> None:
    """Does the steps and writes their results; never returns."""
    code = 0
    results: list[Any] = []
    try:
        _prepare(order)
        for name, *arguments in order["steps"]:
            results.append(_do(name, arguments))
    except MemoryAssetsError as error:
        code = error.exit_code
        results.append(error.to_dict())
    except BaseException:  # noqa: BLE001 - the child must end here, whatever happened
        traceback.print_exc()
        code = 99
    if not order["background"]:
        os.write(out, json.dumps(results).encode())
    sys.stderr.flush()
    os._exit(code)


def _prepare(order: dict[str, Any]) -> None:
    if order["failpoint"]:
        os.environ[VARIABLE] = order["failpoint"]
    if order["file_limit"]:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (order["file_limit"],) * 2)
    if order["kill_at_call"]:
        left = order["kill_at_call"]

        def count(event: str, _: object) -> None:
            nonlocal left
            if event == "open" or event.startswith("os."):
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)


def _do(name: str, arguments: list[str]) -> Any:
    from tests.crash import reader, worker

    if name == "night":
        return worker.night(*arguments)
    if name == "look":
        return reader.look(Path(arguments[0]), Path(arguments[1]))
    if name == "watch":
        reader.watch(*(Path(a) for a in arguments))
        return None
    raise ValueError(name)


def _serve() -> None:
    for line in sys.stdin.buffer:
        order = json.loads(line)
        read, write = os.pipe()
        began = time.perf_counter()
        pid = os.fork()
        if pid == 0:
            os.close(read)
            _child(order, write)
        os.close(write)
        if order["background"]:
            answer = {"signal": 0, "exit_code": 0, "results": [pid], "seconds": 0.0}
            os.close(read)
        else:
            answer = _wait(pid, read, order["kill_after"])
            answer["seconds"] = time.perf_counter() - began
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _wait(pid: int, read: int, kill_after: float) -> dict[str, Any]:
    handle = os.pidfd_open(pid)
    if kill_after and not select.select([handle], [], [], kill_after)[0]:
        os.kill(pid, signal.SIGKILL)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(pid, 0)
    os.close(handle)
    return {
        "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
        "exit_code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else -1,
        "results": json.loads(data) if data else [],
    }


def _import_everything() -> None:
    for name in ("duckdb", "lance", "lance.query", "lancedb", "lancedb.index"):
        importlib.import_module(name)
    for name in ("reader", "worker"):
        importlib.import_module(f"tests.crash.{name}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    _import_everything()
    _serve()
