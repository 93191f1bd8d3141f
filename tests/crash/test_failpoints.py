"""A process is killed at every named place of a night; the next night makes good what is left."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

from memory_assets.steps.registry.view import RegistryView
from memory_assets.storage.failpoints import FAILPOINTS
from memory_assets.storage.generations import GenerationStore
from memory_assets.storage.home import Home
from tests.crash.forking import Forker
from tests.crash.world import World, new_home

pytestmark = pytest.mark.crash
REMOVALS_ONLY = "publish.request-redacted"
NIGHT = [f for f in FAILPOINTS if f != REMOVALS_ONLY]
BEFORE_COMMIT = NIGHT[: NIGHT.index("publish.committed")]


class Arena:
    """Copies of one prepared home, and what an undisturbed second night makes of it."""

    def __init__(self, root: Path, forker: Forker) -> None:
        self.root = root
        world = World(root / "start" / "ledgers", seed=7)
        new_home(root / "start" / "home")
        world.grow(4)
        self.first = self.copy("start", "first")
        assert forker.run(self._step("night", self.first)).exit_code == 0
        shutil.rmtree(root / "start" / "ledgers")
        shutil.copytree(self.first / "ledgers", root / "start" / "ledgers")
        shutil.rmtree(root / "start" / "home")
        shutil.copytree(self.first / "home", root / "start" / "home")
        world.grow(4)
        self.undisturbed = self.copy("start", "undisturbed")
        assert forker.run(self._step("night", self.undisturbed)).results[0]["published"]

    def copy(self, source: str, name: str) -> Path:
        """Home and ledgers copied under a new name."""
        return Path(shutil.copytree(self.root / source, self.root / name))

    @staticmethod
    def _step(what: str, place: Path) -> list[str]:
        return [what, str(place / "home"), str(place / "ledgers")]

    def night(self, place: Path) -> list[str]:
        """The step that runs one night there."""
        return self._step("night", place)

    def look(self, place: Path) -> list[str]:
        """The step that looks at it as a reader."""
        return self._step("look", place)


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory, forker: Forker) -> Arena:
    """One first night, prepared once."""
    return Arena(tmp_path_factory.mktemp("arena"), forker)


def registry(place: Path) -> dict[str, pl.DataFrame]:
    """Every registry table of the published generation."""
    return RegistryView.of(GenerationStore(Home(place / "home")).snapshot()).tables()


def companions(place: Path) -> dict[str, bytes]:
    """Every companion file."""
    files = sorted((place / "ledgers").glob("*/*.markers.jsonl"))
    return {f.name: f.read_bytes() for f in files}


@pytest.mark.parametrize("failpoint", NIGHT)
def test_a_killed_night_is_made_good_by_the_next_one(
    failpoint: str, arena: Arena, forker: Forker
) -> None:
    """Readers see one whole generation, and the same registry and markers come out, once."""
    place = arena.copy("start", failpoint)
    killed = forker.run(arena.night(place), failpoint=failpoint)
    assert killed.killed, killed.results
    after = forker.run(arena.look(place), arena.night(place), arena.look(place), arena.night(place))
    assert after.exit_code == 0, after.results
    (seen, wrong), night, (_, still_wrong), third = after.results
    assert (wrong, still_wrong) == ([], [])
    assert seen == (1 if failpoint in BEFORE_COMMIT else 2)
    assert (night["generation"], third["published"], third["markers"]) == (2, False, 0)
    for name, table in registry(arena.undisturbed).items():
        assert table.equals(registry(place)[name]), name
    assert companions(place) == companions(arena.undisturbed)


@pytest.mark.parametrize("failpoint", ["publish.index-synced", "publish.manifest-written"])
def test_the_very_first_night_can_be_killed_too(
    failpoint: str, arena: Arena, forker: Forker, tmp_path: Path
) -> None:
    """A home without CURRENT is an empty one, whatever lies in it."""
    world = World(tmp_path / "ledgers", seed=7)
    world.grow(4)
    new_home(tmp_path / "home")
    assert forker.run(arena.night(tmp_path), failpoint=failpoint).killed
    after = forker.run(arena.look(tmp_path), arena.night(tmp_path), arena.look(tmp_path))
    (seen, wrong), night, (number, still_wrong) = after.results
    assert (seen, wrong, number, still_wrong) == (0, [], 1, [])
    assert night["recovered"]
    for name, table in registry(arena.first).items():
        assert table.equals(registry(tmp_path)[name]), name
