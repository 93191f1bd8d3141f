"""Full disks, read-only folders and damaged files: a named error with a way out, never a guess."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from memory_assets.domain.schemas import MEMORIES
from memory_assets.errors import CorruptStore, PublisherBusy
from memory_assets.storage.generations import GenerationStore
from memory_assets.storage.home import Home
from memory_assets.storage.locks import exclusive
from tests.crash.conftest import Place
from tests.crash.forking import Forker

pytestmark = pytest.mark.crash


def failed(forker: Forker, place: Place) -> dict[str, Any]:
    """The named error with which a night there ends."""
    outcome = forker.run(place.step("night"))
    assert outcome.exit_code not in (0, 99), outcome.results
    error: dict[str, Any] = outcome.results[-1]
    assert error["remedy"]
    return error


def served(forker: Forker, place: Place) -> int:
    """The generation that a reader sees there, whole."""
    number, problems = forker.run(place.step("look")).results[0]
    assert problems == []
    return int(number)


def fill(folder: Path, leave: int) -> Path:
    """A file that leaves only so many bytes of its file system."""
    stat = os.statvfs(folder)
    ballast = folder / "ballast"
    ballast.write_bytes(bytes(max(0, stat.f_bavail * stat.f_frsize - leave)))
    return ballast


@pytest.mark.parametrize("leave", [0, 40_000, 90_000, 150_000])
def test_a_full_disk_stops_the_night_and_costs_nothing(
    leave: int, tmpfs: Path, place: Place, forker: Forker
) -> None:
    """Wherever the space runs out, readers keep generation 1 and the next night publishes."""
    shutil.copytree(place.home, tmpfs / "home")
    place.home = tmpfs / "home"
    ballast = fill(tmpfs, leave)
    outcome = forker.run(place.step("night"))
    if outcome.exit_code == 0 and leave > 100_000:
        pytest.skip("so much space is enough here")
    error = outcome.results[-1]
    assert error["error"] in ("store-write-failed", "markers-owed"), error
    assert served(forker, place) in (1, 2)
    ballast.unlink()
    assert forker.run(place.step("night")).exit_code == 0
    assert served(forker, place) == 2


def test_a_full_disk_leaves_the_command_that_makes_room(tmpfs: Path) -> None:
    """A lock is held without its holder's name where not even that much can be written."""
    fill(tmpfs, 0)
    lock = tmpfs / "publisher.lock"
    with exclusive(lock, purpose="collecting"):
        assert lock.read_bytes() == b"", "the name fitted, so this tested nothing"
        with pytest.raises(PublisherBusy), exclusive(lock, purpose="another"):
            pytest.fail("two hold the lock")


@pytest.mark.parametrize("limit", [1, 700, 3_000, 6_000, 20_000])
def test_a_file_that_may_not_grow_is_a_named_error(
    limit: int, place: Place, forker: Forker
) -> None:
    """A quota on file size stops the night by name, and the next one is whole."""
    outcome = forker.run(place.step("night"), file_limit=limit)
    if outcome.exit_code:
        assert outcome.results[-1]["error"] == "store-write-failed", outcome.results
    assert served(forker, place) in (1, 2)
    assert forker.run(place.step("night")).exit_code == 0
    assert served(forker, place) == 2


def test_a_read_only_home_is_a_named_error(tmpfs: Path, place: Place, forker: Forker) -> None:
    """Nothing is changed, and the message says to make the folder writable."""
    shutil.copytree(place.home, tmpfs / "home")
    place.home = tmpfs / "home"
    subprocess.run(["mount", "-o", "remount,ro", str(tmpfs)], check=True)
    error = failed(forker, place)
    assert error["error"] == "store-write-failed"
    assert "writable" in error["remedy"]
    assert served(forker, place) == 1
    subprocess.run(["mount", "-o", "remount,rw", str(tmpfs)], check=True)
    assert forker.run(place.step("night")).results[0]["generation"] == 2


def test_a_changed_part_is_found_before_anything_is_built_on_it(
    place: Place, forker: Forker
) -> None:
    """One flipped byte in a listed part stops the night and names the file."""
    part = next((place.home / "registry" / "memories").glob("*.parquet"))
    data = bytearray(part.read_bytes())
    data[len(data) // 2] ^= 1
    part.write_bytes(data)
    error = failed(forker, place)
    assert (error["error"], Path(error["where"])) == ("corrupt-store", part)
    assert "backup" in error["remedy"]
    with pytest.raises(CorruptStore) as caught:
        GenerationStore(Home(place.home)).snapshot().table(MEMORIES)
    assert caught.value.where == str(part), "a reader is told as well"


def test_a_missing_pointer_is_never_guessed(place: Place, forker: Forker) -> None:
    """Without CURRENT nobody takes the newest manifest for the published one."""
    current = Home(place.home).current
    value = current.read_bytes()
    current.unlink()
    assert failed(forker, place)["error"] == "current-missing"
    current.write_bytes(value)
    assert forker.run(place.step("night")).results[0]["generation"] == 2


def test_a_garbled_pointer_or_manifest_is_a_named_error(place: Place, forker: Forker) -> None:
    """Both are compared with what was published."""
    home = Home(place.home)
    value = home.current.read_bytes()
    home.current.write_bytes(b"")
    assert failed(forker, place)["error"] == "corrupt-store"
    home.current.write_bytes(value.replace(b'"generation": 1', b'"generation": 7'))
    assert failed(forker, place)["error"] == "corrupt-store"
    home.current.write_bytes(value)
    manifest = home.generations / "00000001" / "manifest.json"
    manifest.write_bytes(manifest.read_bytes() + b" ")
    assert failed(forker, place)["error"] == "corrupt-store"


def newest_lance_manifest(home: Path) -> Path:
    """The manifest of the newest index version."""
    table = next((home / "index").glob("*.lance"))
    return min((table / "_versions").glob("*.manifest"))


def test_an_empty_manifest_of_the_published_index_names_the_way_out(
    place: Place, forker: Forker
) -> None:
    """The published version is not replaced by an older one: the index must be built anew."""
    newest_lance_manifest(place.home).write_bytes(b"")
    error = failed(forker, place)
    assert error["error"] == "corrupt-store"
    assert "repair-index" in error["remedy"]


def test_an_empty_manifest_of_an_unpublished_index_version_is_taken_back(
    place: Place, forker: Forker
) -> None:
    """A loss of power before the commit leaves nothing that stops the next night."""
    assert forker.run(place.step("night"), failpoint="publish.index-tagged").killed
    newest_lance_manifest(place.home).write_bytes(b"")
    assert served(forker, place) == 1
    night = forker.run(place.step("night"))
    assert night.results[0]["generation"] == 2, night.results
    assert served(forker, place) == 2


def test_companions_that_cannot_be_written_are_owed_by_name(
    tmpfs: Path, place: Place, forker: Forker
) -> None:
    """The registry is published all the same; the markers follow once the files can be written."""
    shutil.copytree(place.ledgers, tmpfs / "ledgers")
    place.ledgers = tmpfs / "ledgers"
    ballast = fill(tmpfs, 0)
    first = forker.run(place.step("night")).results[0]
    assert first["generation"] == 2
    assert first["owed"]
    ballast.unlink()
    second = forker.run(place.step("night")).results[0]
    assert (second["published"], second["owed"]) == (False, [])
    assert second["markers"] >= len(first["owed"])
    assert served(forker, place) == 2
