"""The one place where an error becomes a message and an exit code."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Final

from memory_assets.errors import MemoryAssetsError

INTERRUPTED: Final = 130
"""128 + SIGINT, as shells count; SIGTERM ends a command in the same way."""
PIPE_CLOSED: Final = 141
"""128 + SIGPIPE: whoever read our output has gone, which is no error of ours."""


def guarded(work: Callable[[], int], *, as_json: bool, debug: bool) -> int:
    """The exit code of a command: its own, or that of the error which it met and which is told.

    The message goes to stderr; with ``as_json`` the error is also the JSON object on stdout.
    """
    try:
        return work()
    except MemoryAssetsError as error:
        if debug:
            traceback.print_exc()
        return _tell(error, as_json=as_json)
    except KeyboardInterrupt:
        sys.stderr.write(
            "Interrupted. Nothing is half-done: run the same command again to go on.\n"
        )
        return INTERRUPTED
    except BrokenPipeError:
        # The interpreter flushes stdout once more at its end; there must be somewhere to flush to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except Exception as error:  # noqa: BLE001 - the last place that can turn it into a message
        if debug:
            traceback.print_exc()
        return _tell(_unexpected(error), as_json=as_json)


def tell(error: MemoryAssetsError) -> None:
    """Writes what happened, where, and what to do, to stderr."""
    lines = [f"Error ({error.code}): {error.what}"]
    if error.where:
        lines.append(f"  where:      {error.where}")
    if error.remedy:
        lines.append(f"  what to do: {error.remedy}")
    sys.stderr.write("\n".join(lines) + "\n")


def _tell(error: MemoryAssetsError, *, as_json: bool) -> int:
    if as_json:
        sys.stdout.write(json.dumps(error.to_dict(), ensure_ascii=False) + "\n")
        sys.stdout.flush()
    tell(error)
    return error.exit_code


def _unexpected(error: Exception) -> MemoryAssetsError:
    said = str(error).strip().splitlines()
    return MemoryAssetsError(
        f"{type(error).__name__}: {said[0] if said else 'no message'}",
        remedy="run the command again with --debug for the details; what was published stays "
        "published.",
    )
