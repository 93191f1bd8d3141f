"""Folders that are built once: whole, whoever else builds them, whatever died before."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memory_assets.embedding.folders import built_folder, file_sha256, package_folder, write_json


def builder(log: list[str], text: str = "weights") -> Callable[[Path], None]:
    """A build that notes that it ran."""

    def build(folder: Path) -> None:
        log.append(text)
        (folder / "sub").mkdir()
        (folder / "sub" / "weights").write_text(text)
        write_json(folder / "config.json", {"text": text})

    return build


def test_it_is_built_once(tmp_path: Path) -> None:
    """The second call finds it."""
    log: list[str] = []
    target = tmp_path / "models" / "m"
    for _ in range(2):
        assert built_folder(target, builder(log)) == target
    assert log == ["weights"]
    assert (target / "sub" / "weights").read_text() == "weights"


@pytest.mark.parametrize("harm", ["lost", "short", "unmarked", "garbled"])
def test_an_incomplete_folder_is_built_anew(harm: str, tmp_path: Path) -> None:
    """A lost, shortened or unmarked file means that it is not whole."""
    log: list[str] = []
    target = built_folder(tmp_path / "m", builder(log))
    weights, mark = target / "sub" / "weights", target / "COMPLETE.json"
    if harm in ("lost", "unmarked"):
        (weights if harm == "lost" else mark).unlink()
    else:
        (weights if harm == "short" else mark).write_text("[]")
    built_folder(target, builder(log, "again"))
    assert weights.read_text() == "again"
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_a_build_that_fails_leaves_nothing(tmp_path: Path) -> None:
    """Neither a half folder nor its rest."""

    def build(folder: Path) -> None:
        (folder / "half").write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        built_folder(tmp_path / "m", build)
    assert list(tmp_path.iterdir()) == []


def test_rests_of_killed_builds_are_removed(tmp_path: Path) -> None:
    """Old ones go; a recent one may belong to a process that is still building."""
    old, recent = tmp_path / ".m-1-aa", tmp_path / ".m-2-bb"
    for folder in (old, recent):
        folder.mkdir()
    os.utime(old, (0, 0))
    built_folder(tmp_path / "m", builder([]))
    assert not old.exists()
    assert recent.exists()


def _build(target: Path) -> None:
    built_folder(target, builder([], "same"))


def test_processes_that_build_at_once_end_with_one_whole_folder(tmp_path: Path) -> None:
    """No error, no rest, no mixture."""
    target = tmp_path / "m"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_build, args=(target,)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    assert (target / "sub" / "weights").read_text() == "same"


def test_packages_are_found_without_import() -> None:
    """An absent one is None."""
    assert package_folder("no_such_package_at_all") is None
    found = package_folder("memory_assets")
    assert found is not None
    assert (found / "errors.py").is_file()


def test_file_hash(tmp_path: Path) -> None:
    """The known SHA-256 of three letters."""
    (tmp_path / "f").write_bytes(b"abc")
    assert file_sha256(tmp_path / "f").startswith("ba7816bf8f01cfea")
