"""A home and the sample ledgers of its own for every test of the assets."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path

import dagster as dg
import pytest


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with ``ledgers`` (the samples) and ``home``, named by the environment."""
    with as_file(files("memory_assets") / "samples") as samples:
        shutil.copytree(samples / "ledgers", tmp_path / "ledgers")
        (tmp_path / "home").mkdir()
        shutil.copy(samples / "tenants.toml", tmp_path / "home" / "tenants.toml")
    monkeypatch.setenv("MEMORY_ASSETS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MEMORY_ASSETS_LEDGERS", str(tmp_path / "ledgers"))
    monkeypatch.setenv("MEMORY_ASSETS_EMBEDDING", "hashed:64")
    return tmp_path


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """A Dagster instance that is gone after the test."""
    with dg.DagsterInstance.ephemeral() as found:
        yield found
