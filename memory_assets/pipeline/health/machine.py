"""The parts of ``doctor`` that look at the machine, the settings and the model."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from memory_assets.errors import MemoryAssetsError
from memory_assets.pipeline.health.findings import Finding, error, info, ok, warning
from memory_assets.settings import Settings

PACKAGES: Final = (
    "dagster",
    "duckdb",
    "lancedb",
    "polars",
    "pylance",
    "sentence-transformers",
    "torch",
)
LOW_DISK_BYTES: Final = 1_000_000_000
NO_DISK_BYTES: Final = 100_000_000
_WEIGHTS: Final = ("weight_cosine", "weight_text", "weight_recency", "weight_access")


def environment(home: Path | None) -> Iterator[Finding]:
    """Python, the packages that the pipeline stands on, and the disk."""
    yield ok("python", f"Python {platform.python_version()} on {platform.system()}")
    found, missing = [], []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        what = f"not installed: {', '.join(missing)}"
        yield error("packages", what, f"pip install {' '.join(missing)}")
    else:
        yield ok("packages", ", ".join(found))
    if home is not None:
        yield _disk(home)


def _disk(home: Path) -> Finding:
    there = next(p for p in (home, *home.parents) if p.exists())
    free = shutil.disk_usage(there).free
    what = f"{free / 1e9:.1f} GB free for {home}"
    mend = "free some space, or move the home folder and name it with --home."
    if free < NO_DISK_BYTES:
        return error("disk", what, mend)
    return warning("disk", what, mend) if free < LOW_DISK_BYTES else ok("disk", what)


def settings(found: Settings) -> Iterator[Finding]:
    """Settings that are valid one by one but do not fit together, or point nowhere."""
    yield _ledgers(found)
    total = sum(found.number(name) for name in _WEIGHTS)
    if abs(total - 1) > 1e-9:
        yield warning(
            "weights",
            f"the four weights of the search score add up to {total:g}, so scores do not lie "
            "between 0 and 1",
            f"set {', '.join(_WEIGHTS)} so that they add up to 1.",
        )
    if found.tenants_file is None:
        yield info(
            "tenants",
            "no tenants.toml: every folder below the ledgers folder is a tenant with manual review",
            f"write {found.home / 'tenants.toml'} to name the tenants.",
        )
    else:
        yield ok("tenants", f"{len(found.tenants)} in {found.tenants_file}")


def _ledgers(found: Settings) -> Finding:
    try:
        ledgers = found.ledgers
    except MemoryAssetsError as failure:
        return error("ledgers", failure.what, failure.remedy)
    if not ledgers.is_dir():
        return error(
            "ledgers",
            f"the ledgers folder {ledgers} does not exist",
            "name the right one with --ledgers, or create it.",
        )
    if found.home.parent == ledgers:
        return error(
            "ledgers",
            f"the home folder lies among the tenants' folders of {ledgers}",
            "move it out of there and name it with --home.",
        )
    return ok("ledgers", f"{ledgers} ({found.origins['ledgers']})")


def is_writable(folder: Path) -> bool:
    """Whether this user may write in a folder, or create it."""
    there = next(p for p in (folder, *folder.parents) if p.exists())
    return os.access(there, os.W_OK | os.X_OK)
