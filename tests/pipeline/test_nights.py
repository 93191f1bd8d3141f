"""Whole nights without Dagster: repeated, in another order, split in two, on real ledgers too."""

from __future__ import annotations

import os
import random
import shutil
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory_assets.domain.schemas import PROMOTION_KEY
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.promotion.publish import PublishResult
from tests.benches.generate import write_ledgers

BESIDE = Path(__file__).parents[2].parent / "shared" / "data"
BIRD = Path(os.environ.get("MEMORY_ASSETS_TEST_DATA", BESIDE)) / "bird_ledgers"
NOW = datetime(2026, 11, 30, 3, 30, tzinfo=UTC)
Classes = dict[frozenset[tuple[object, ...]], str]


@pytest.fixture(params=["generated", "bird"])
def ledgers(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Two hundred generated sessions, or the BIRD ledgers where they are present."""
    folder = tmp_path / "ledgers"
    if request.param == "generated":
        write_ledgers(folder, 200)
    else:
        if not BIRD.exists():
            pytest.skip("no bird_ledgers: set MEMORY_ASSETS_TEST_DATA to the data folder")
        shutil.copytree(BIRD, folder, ignore=shutil.ignore_patterns("truth.jsonl"))
    return folder


def night(home: Path, ledgers: Path) -> PublishResult:
    """One whole night."""
    workspace = Workspace.load(home=str(home), ledgers=str(ledgers), embedding="hashed:64")
    workspace.ingest()
    workspace.decide()
    workspace.derive_candidates(now=NOW)
    result = workspace.publish(run_id="test", now=NOW)
    workspace.mark(now=NOW).raise_if_owed()
    return result


def registry_bytes(home: Path) -> dict[str, bytes]:
    """Every Parquet part of the registry."""
    root = home / "registry"
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*.parquet"))}


def classes(home: Path) -> Classes:
    """The promotion keys that share a memory, and the id that holds them."""
    view = Workspace.load(home=str(home)).registry()
    found = defaultdict(set)
    for table in (view.memories, view.corroborations):
        for *key, memory in table.select(*PROMOTION_KEY, "memory_id").rows():
            found[key[0], memory].add(tuple(key))
    return {frozenset(keys): memory for (_, memory), keys in found.items()}


def test_three_nights_of_the_same_ledgers_give_the_same_bytes(
    ledgers: Path, tmp_path: Path
) -> None:
    """A second and third night add no row, publish nothing, and change no byte of the registry."""
    first = night(tmp_path / "home", ledgers)
    assert first.published
    assert first.new_memories > 50
    before = registry_bytes(tmp_path / "home")
    for _ in range(2):
        again = night(tmp_path / "home", ledgers)
        assert (again.published, again.new_memories, again.corroborated) == (False, 0, 0)
    assert registry_bytes(tmp_path / "home") == before


def test_the_order_of_files_does_not_show(ledgers: Path, tmp_path: Path) -> None:
    """Files written in another order give byte-equal registry tables."""
    files = sorted(ledgers.glob("*/*.jsonl"))
    random.Random(7).shuffle(files)
    other = tmp_path / "other"
    for path in files:
        target = other / path.relative_to(ledgers)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    night(tmp_path / "a", ledgers)
    night(tmp_path / "b", other)
    assert registry_bytes(tmp_path / "a") == registry_bytes(tmp_path / "b")


def test_two_nights_give_what_one_night_gives(ledgers: Path, tmp_path: Path) -> None:
    """Split over two nights the same decisions share memories; published ids never change."""
    files = sorted(ledgers.glob("*/*.jsonl"))
    random.Random(11).shuffle(files)
    half = tmp_path / "half"
    for path in files[: len(files) // 2]:
        target = half / path.relative_to(ledgers)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    night(tmp_path / "split", half)
    early = classes(tmp_path / "split")
    for path in files[len(files) // 2 :]:
        target = half / path.relative_to(ledgers)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    night(tmp_path / "split", half)
    late = classes(tmp_path / "split")
    night(tmp_path / "whole", ledgers)
    assert set(late) == set(classes(tmp_path / "whole"))
    for keys, memory in early.items():
        (grown,) = (k for k in late if keys <= k)
        assert late[grown] == memory
