"""The files around the package: what is promised there is true."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
ASKED_FOR = {
    "dagster",
    "dagster-postgres",
    "duckdb",
    "lancedb",
    "polars",
    "pytest",
    "sentence-transformers",
}


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    """The parsed pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_core_packages_are_dependencies(project: dict[str, Any]) -> None:
    """The seven packages that the project is built on stay declared, each with an upper bound."""
    table = project["project"]
    declared = {
        re.split(r"[<>=;\s]", line, maxsplit=1)[0]: line
        for line in [*table["dependencies"], *table["optional-dependencies"]["dev"]]
    }
    assert declared.keys() >= ASKED_FOR
    assert all("<" in line for line in declared.values())


def test_the_package_is_typed(project: dict[str, Any]) -> None:
    """Type checkers of other projects read our annotations: the marker file is in the package."""
    assert (ROOT / "memory_assets" / "py.typed").is_file()
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == ["memory_assets"]


@pytest.mark.parametrize(
    "path", [ROOT / "dagster.yaml", *sorted(ROOT.glob("deploy/**/dagster.yaml"))], ids=str
)
def test_dagster_accepts_its_settings(path: Path) -> None:
    """Dagster refuses unknown or misspelt settings only when an instance starts: in the night."""
    from dagster._core.instance.config import dagster_instance_config

    config, _ = dagster_instance_config(str(path.parent))
    assert config["telemetry"] == {"enabled": False}
    assert config["nux"] == {"enabled": False}
    assert config["concurrency"]["pools"] == {"granularity": "op", "default_limit": 1}
    monitoring = config["run_monitoring"]
    assert monitoring["enabled"]
    assert monitoring["free_slots_after_run_end_seconds"] > 0
    assert monitoring["max_runtime_seconds"] > 0


def test_make_lists_its_targets() -> None:
    """`make` alone tells a newcomer every target there is."""
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert phony is not None
    shown = subprocess.run(
        ["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    listed = [line.split()[1] for line in shown.splitlines()]
    assert sorted(listed) == sorted(phony.group(1).split())
