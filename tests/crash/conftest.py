"""What the crash tests share."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.forking import Forker
from tests.crash.world import World, new_home


@pytest.fixture(scope="session")
def forker() -> Iterator[Forker]:
    """Children that start at once."""
    with Forker() as started:
        yield started


class Place:
    """A home and its ledgers, and the steps that children run there."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home"
        self.ledgers = root / "ledgers"

    def step(self, what: str) -> list[str]:
        """The step by name: ``night`` or ``look``."""
        return [what, str(self.home), str(self.ledgers)]


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory, forker: Forker) -> Place:
    """A home in which one night was published, and something new to publish."""
    found = Place(tmp_path_factory.mktemp("prepared"))
    new_home(found.home)
    world = World(found.ledgers, seed=5)
    world.grow(3)
    assert forker.run(found.step("night")).exit_code == 0
    world.grow(2)
    return found


@pytest.fixture
def place(tmp_path: Path, prepared: Place) -> Place:
    """A copy of the prepared home."""
    shutil.copytree(prepared.root, tmp_path, dirs_exist_ok=True)
    return Place(tmp_path)


@pytest.fixture
def tmpfs(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, 2 MB small; only root may mount one."""
    if os.geteuid() != 0:
        pytest.skip("mounting a file system takes root")
    target = tmp_path / "small"
    target.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(target)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("this machine does not let a test mount a file system")
    yield target
    subprocess.run(["umount", str(target)], check=True)
