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

LIMITS = {"code location over `import dagster`": 3.0, "memory-assets --help": 0.5}
"""CPU seconds that must not be exceeded."""
TRIES = 3
_LOAD = "from memory_assets.definitions import defs; defs.get_repository_def()"


def cpu_seconds(command: Sequence[str], environment: Mapping[str, str] | None = None) -> float:
    """User and system time of a process and its children; the median of a few tries."""
    found = []
    for _ in range(TRIES):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            command, check=True, capture_output=True, env={**os.environ, **(environment or {})}
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return median(found)


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
        "a night without new sessions": _idle_night(),
    }


def _idle_night() -> float:
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
        subprocess.run(command, check=True, capture_output=True, env=os.environ | environment)
        return cpu_seconds(command, environment)


def main() -> int:
    """Prints the figures; exit code 1 when a limit is exceeded."""
    found = measure()
    for name, seconds in found.items():
        limit = f"  (limit {LIMITS[name]:g})" if name in LIMITS else ""
        print(f"{name:40} {seconds:6.2f} CPU s{limit}")
    return int(any(found[name] > limit for name, limit in LIMITS.items()))


if __name__ == "__main__":
    sys.exit(main())
