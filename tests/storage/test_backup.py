"""A generation copied out while nights run, and back into an empty home."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from pathlib import Path

import pytest

from memory_assets.errors import BackupUnusable, UsageError
from memory_assets.pipeline.upkeep.upkeep import drift_of, repair_index
from memory_assets.storage.backup import LIST, back_up, disk_use, restore
from memory_assets.storage.home import Home
from memory_assets.storage.index_files import manifests
from memory_assets.storage.index_pinned import table_path
from tests.building import close, row
from tests.nights import World, tree


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Two published generations, a verdict, and settings."""
    made = World(tmp_path / "world")
    made.root.mkdir()
    made.tenants("[tenants.bank]\nreview = 'automatic'\n\n[tenants.clinic]\n")
    for n in (1, 2):
        made.session("bank", f"s{n}", row(1, subject=f"s{n}"), close(2))
        made.night()
    made.session("clinic", "s1", row(1), close(2))
    made.night()
    made.review("clinic", "s1", 1, "decline")
    return made


def back(world: World, source: Path) -> World:
    """The backup restored into a home beside a copy of the ledgers."""
    other = World(source.parent / "other")
    restore(source, Home(other.home))
    (other.root / "ledgers").symlink_to(world.ledgers)
    return other


def test_a_restored_home_says_the_same_and_goes_on(world: World, tmp_path: Path) -> None:
    """Registry, index, verdicts and settings are back; the next night starts from there."""
    made = back_up(world.workspace.generations, tmp_path / "copy", now=world.now)
    assert made.generation == 2
    other = back(world, tmp_path / "copy")
    assert other.workspace.registry().memories.equals(world.workspace.registry().memories)
    report = drift_of(other.workspace)
    assert (report.clean, report.memories) == (True, 2)
    kept = {p for p in tree(world.home / "review", world.home / "derived") if "." in p}
    assert {p.replace(str(world.home), str(other.home)) for p in kept} <= tree(other.home).keys()
    night = other.night()
    assert (night.publish.published, night.publish.generation) == (False, 2)
    other.session("bank", "s9", row(1, subject="s9"), close(2))
    assert other.night().publish.generation == 3
    assert drift_of(other.workspace).clean


@pytest.mark.parametrize(
    "name",
    [
        "answers/ab/abcd.json",
        "merge/duplicate_pairs/all.parquet",
        "merge/duplicate_pairs.json",
        "review/pairs.jsonl",
        "review/feedback.jsonl",
        "access/dt=2026-03-01/7.jsonl",
        "tiers/publications.json",
        "evaluations/retrieval.jsonl",
        "preflight/deviations.jsonl",
        "probes/abcd.json",
    ],
)
def test_what_cannot_be_had_again_is_in_the_backup(name: str, world: World, tmp_path: Path) -> None:
    """Answers that cost money, tables of the merge and every log come back byte for byte."""
    path = world.home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b'{"line": 1}\n')
    back_up(world.workspace.generations, tmp_path / "copy", now=world.now)
    other = back(world, tmp_path / "copy")
    assert (other.home / name).read_bytes() == b'{"line": 1}\n'
    for kept in ("review/decisions.jsonl", "allocations.jsonl"):
        assert (other.home / kept).read_bytes() == (world.home / kept).read_bytes()


def test_a_backup_taken_while_nights_run_is_one_generation(world: World, tmp_path: Path) -> None:
    """Whatever is published meanwhile, the copy holds one state in full."""
    (world.home / "settings.toml").write_text("keep_generations = 1\nkeep_days = 0\n")
    world.__dict__.pop("workspace")
    done = threading.Event()

    def nights() -> None:
        for n in range(10, 16):
            world.session("bank", f"s{n}", row(1, subject=f"s{n}"), close(2))
            world.night()
        done.set()

    thread = threading.Thread(target=nights)
    thread.start()
    taken = 0
    while not done.is_set() or not taken:
        target = tmp_path / f"copy-{taken}"
        made = back_up(world.workspace.generations, target, now=world.now)
        other = World(tmp_path / f"other-{taken}")
        restore(target, Home(other.home))
        report = drift_of(other.workspace)
        assert (report.clean, report.generation) == (True, made.generation)
        taken += 1
    thread.join()
    assert taken > 1


def test_neither_overwrites_anything(world: World, tmp_path: Path) -> None:
    """A target with something in it, and a home in use, are refused."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(UsageError):
        back_up(world.workspace.generations, tmp_path / "full", now=world.now)
    back_up(world.workspace.generations, tmp_path / "copy", now=world.now)
    with pytest.raises(UsageError):
        restore(tmp_path / "copy", world.workspace.home)


def test_a_changed_or_lost_file_is_found_before_current_is_written(
    world: World, tmp_path: Path
) -> None:
    """A restored home is whole or has no CURRENT at all."""
    copy = tmp_path / "copy"
    back_up(world.workspace.generations, copy, now=world.now)
    names = [n for n in json.loads((copy / LIST).read_bytes())["files"] if n.endswith(".parquet")]
    part = copy / names[0]
    data = part.read_bytes()
    part.write_bytes(data[:-1] + b"x")
    with pytest.raises(BackupUnusable, match="differs from its hash"):
        restore(copy, Home(tmp_path / "one"))
    assert not Home(tmp_path / "one").current.exists()
    part.unlink()
    with pytest.raises(BackupUnusable, match="cannot be read"):
        restore(copy, Home(tmp_path / "two"))
    (copy / LIST).unlink()
    with pytest.raises(BackupUnusable, match=LIST):
        restore(copy, Home(tmp_path / "three"))


def test_an_empty_home_has_nothing_to_back_up(tmp_path: Path) -> None:
    """The message says to run a night first."""
    world = World(tmp_path)
    with pytest.raises(UsageError, match="Nothing has been published"):
        back_up(world.workspace.generations, tmp_path / "copy", now=world.now)


def test_a_damaged_index_is_told_and_made_anew_after_the_restore(
    world: World, tmp_path: Path
) -> None:
    """The registry is what a backup is for; that its index is worth nothing is not kept quiet."""
    sound = back_up(world.workspace.generations, tmp_path / "sound", now=world.now)
    assert sound.unreadable == ()
    space = world.workspace.generations.current()[0].spaces[0]
    table = table_path(Home(world.home).index, space.table)
    manifests(table)[space.version].write_bytes(b"")
    made = back_up(world.workspace.generations, tmp_path / "copy", now=world.now)
    assert made.unreadable == (space.space.space_id,)
    other = back(world, tmp_path / "copy")
    assert not drift_of(other.workspace).clean
    repair_index(other.workspace, now=other.now)
    assert drift_of(other.workspace).clean


def test_a_read_only_home_can_be_backed_up(world: World, tmp_path: Path) -> None:
    """A disk that was mounted so to save what is on it needs no lock: nobody writes there."""
    if os.geteuid() != 0:
        pytest.skip("mounting a file system takes root")
    bind = ["mount", "--bind", str(world.home), str(world.home)]
    if subprocess.run(bind, check=False, capture_output=True).returncode:
        pytest.skip("this machine does not let a test mount a file system")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(world.home)], check=True)
        made = back_up(world.workspace.generations, tmp_path / "copy", now=world.now)
    finally:
        subprocess.run(["umount", str(world.home)], check=True)
    assert made.generation == 2
    assert any((tmp_path / "copy" / "derived").iterdir())


def test_disk_use_is_told_by_part(world: World) -> None:
    """Every part of the home with its bytes, largest first."""
    used = disk_use(world.workspace.home)
    assert {"index", "registry", "derived", "cache", "generations", "CURRENT"} <= used.keys()
    assert list(used.values()) == sorted(used.values(), reverse=True)
    assert sum(used.values()) == sum(p.stat().st_size for p in world.home.rglob("*") if p.is_file())
