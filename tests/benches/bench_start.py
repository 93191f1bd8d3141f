"""CPU seconds until something can happen: the code location, ``--help``, and an idle night."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from statistics import median

LIMITS = {
    "code location over `import dagster`": 3.0,
    "memory-assets --help": 0.5,
    "the night over the empty job, ratio": 1.5,
}
"""CPU seconds, or times as many, that must not be exceeded."""
TRIES = 3
_LOAD = "from memory_assets.definitions import defs; defs.get_repository_def()"


def cpu_seconds(command: Sequence[str], environment: Mapping[str, str] | None = None) -> float:
    """User and system time of a process and its children; the median of a few tries."""
    return median(_cpu_seconds_once(command, environment) for _ in range(TRIES))


def _cpu_seconds_once(command: Sequence[str], environment: Mapping[str, str] | None) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command, check=True, capture_output=True, env={**os.environ, **(environment or {})}
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure() -> dict[str, float]:
    """What was measured, in CPU seconds."""
    python = sys.executable
    bare = cpu_seconds([python, "-c", "import dagster"])
    loaded = cpu_seconds([python, "-c", _LOAD])
    return {
        "import dagster": bare,
        "code location": loaded,
        "code location over `import dagster`": loaded - bare,
        "memory-assets --help": cpu_seconds([python, "-m", "memory_assets", "--help"]),
        **_idle_night(),
    }


def _idle_night() -> dict[str, float]:
    """The night by turns with a job of the same assets and checks that does nothing.

    Both load the code location, and Dagster records the same events for both: the rest is ours.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with as_file(files("memory_assets") / "samples") as samples:
            shutil.copytree(samples / "ledgers", folder / "ledgers")
        environment = {
            "MEMORY_ASSETS_HOME": str(folder / "home"),
            "MEMORY_ASSETS_LEDGERS": str(folder / "ledgers"),
            "MEMORY_ASSETS_EMBEDDING": "hashed:64",
        }
        command = [sys.executable, "-m", "memory_assets", "nightly"]
        hollow = [sys.executable, "-m", "tests.benches.hollow_night", str(folder / "hollow")]
        taken: dict[str, list[float]] = {"night": [], "hollow": []}
        for _ in range(TRIES + 1):
            taken["hollow"].append(_cpu_seconds_once(hollow, None))
            taken["night"].append(_cpu_seconds_once(command, environment))
        # The first turn makes the homes.
        pairs = list(zip(taken["night"], taken["hollow"], strict=True))[1:]
        return {
            "a night without new sessions": median(night for night, _ in pairs),
            "an empty job of the same shape": median(empty for _, empty in pairs),
            "the night over the empty job, ratio": median(night / empty for night, empty in pairs),
        }


def main() -> int:
    """Prints the figures; exit code 1 when a limit is exceeded."""
    found = measure()
    for name, seconds in found.items():
        limit = f"  (limit {LIMITS[name]:g})" if name in LIMITS else ""
        unit = "" if name.endswith("ratio") else " CPU s"
        print(f"{name:40} {seconds:6.2f}{unit}{limit}")
    return int(any(found[name] > limit for name, limit in LIMITS.items()))


if __name__ == "__main__":
    sys.exit(main())
