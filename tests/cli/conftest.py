"""A prepared installation, and commands run on it in this process or in one of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from memory_assets.cli.app import build
from memory_assets.pipeline.nightly.night import run_night
from memory_assets.pipeline.nightly.samples import copy_samples
from memory_assets.pipeline.workspace import Workspace
from tests.nights import EMBEDDING, NOW, tree


@dataclass(frozen=True)
class Outcome:
    """What a command said and how it ended."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """The one JSON value on stdout."""
        return json.loads(self.out)

    def lines(self) -> list[Any]:
        """The JSON value of every line on stdout."""
        return [json.loads(line) for line in self.out.splitlines()]


@dataclass(frozen=True)
class Cli:
    """The command line, pointed at one installation by environment variables."""

    home: Path
    ledgers: Path

    @property
    def environment(self) -> dict[str, str]:
        """What the commands find in their environment."""
        return {
            "MEMORY_ASSETS_HOME": str(self.home),
            "MEMORY_ASSETS_LEDGERS": str(self.ledgers),
            "MEMORY_ASSETS_EMBEDDING": EMBEDDING,
        }

    def __call__(self, *arguments: str) -> Outcome:
        """Runs a command in this process."""
        done = CliRunner().invoke(build(), list(arguments), env=self.environment)
        return Outcome(done.exit_code, done.stdout, done.stderr)

    def process(self, *arguments: str, **more: str) -> Outcome:
        """Runs a command in a process of its own; ``more`` are further variables."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith("MEMORY_ASSETS_")}
        done = subprocess.run(
            [sys.executable, "-m", "memory_assets", *arguments],
            env={**clean, "OMP_NUM_THREADS": "1", **self.environment, **more},
            capture_output=True,
            text=True,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("MEMORY_ASSETS_") or name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR"):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session", name="published")
def _published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    """The samples after one night, for commands that only read: that they do is checked too."""
    copy = copy_samples(tmp_path_factory.mktemp("published") / "home")
    workspace = Workspace.load(home=str(copy.home), ledgers=str(copy.ledgers), embedding=EMBEDDING)
    run_night(workspace, now=NOW, run_id="first-night")
    before = tree(copy.home)
    yield Cli(copy.home, copy.ledgers)
    assert tree(copy.home) == before, "a command that only reads wrote something"


@pytest.fixture(name="fresh")
def _fresh(tmp_path: Path) -> Cli:
    """The samples before their first night."""
    copy = copy_samples(tmp_path / "home")
    return Cli(copy.home, copy.ledgers)
