"""One night as a process of its own: ``python -m tests.crash.worker HOME LEDGERS [NOW]``."""

from __future__ import annotations

import json
import sys
from datetime import datetime
from typing import Any

from memory_assets.errors import MemoryAssetsError
from memory_assets.pipeline.nightly.night import run_night
from memory_assets.pipeline.workspace import Workspace

NOW = "2026-03-01T03:30:00+00:00"


def night(home: str, ledgers: str, now: str = NOW) -> dict[str, Any]:
    """What the night did, as counts."""
    workspace = Workspace.load(home=home, ledgers=ledgers)
    report = run_night(workspace, now=datetime.fromisoformat(now), run_id="crash")
    return {
        "published": report.publish.published,
        "generation": report.publish.generation,
        "markers": report.markers.written,
        "owed": [session for _, session, _ in report.markers.failed],
        "embedded": report.publish.embedded,
        "recovered": bool(report.publish.recovery),
    }


def main(arguments: list[str]) -> int:
    """Exit code 0 and the counts on standard output, or the error's own code."""
    try:
        print(json.dumps(night(*arguments)))
    except MemoryAssetsError as error:
        print(json.dumps(error.to_dict()))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
