"""Homes that earlier versions wrote are opened, searched, continued and rebuilt by this one."""

from __future__ import annotations

import tarfile
from pathlib import Path

import duckdb
import pytest

from memory_assets.domain.visibility import Principal
from memory_assets.pipeline.nightly.rebuild import rebuild
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.search.types import SearchRequest
from memory_assets.storage.generations import SCHEMA_VERSION
from tests.building import close, row
from tests.nights import World

ARCHIVES = sorted((Path(__file__).resolve().parents[1] / "homes").glob("v*.tar.gz"))
MEMORIES = {
    ("bank", "mem-0001", "aum"),
    ("bank", "mem-0002", "concept 2"),
    ("clinic", "mem-0001", "ablation"),
}


@pytest.fixture(params=ARCHIVES, ids=lambda path: path.name)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    """The home of one version, unpacked and (if this version asks for it) migrated."""
    with tarfile.open(request.param) as packed:
        packed.extractall(tmp_path, filter="data")
    found = World(tmp_path)
    found.workspace.migrate()
    return found


def test_a_home_of_every_schema_version_is_kept() -> None:
    """Whoever raises the version keeps a home of the one before: tests/homes/make.py."""
    names = [path.name for path in ARCHIVES]
    assert names == [f"v{n}.tar.gz" for n in range(1, SCHEMA_VERSION + 1)]


def test_its_memories_are_all_there(world: World) -> None:
    """Ids, words, the corroboration and the retirement; every hash holds."""
    world.workspace.generations.current(verify=True)
    registry = world.workspace.registry()
    columns = ["tenant_id", "memory_id", "subject"]
    assert set(registry.memories.select(columns).rows()) == MEMORIES
    assert registry.corroborations.height == 1
    assert set(registry.active().select(columns).rows()) == MEMORIES - {
        ("bank", "mem-0002", "concept 2")
    }


def test_it_can_be_searched(world: World) -> None:
    """By vector and by words, in the index that the old version wrote."""
    found = world.workspace.search(
        SearchRequest("aum assets", Principal.local("bank"), now=world.now)
    )
    assert [hit.memory_id for hit in found.hits] == ["mem-0001"]


def test_nights_go_on_in_it(world: World) -> None:
    """A new session is published on top, with the next number of its tenant."""
    before = world.workspace.generations.current()[0].number
    world.session("bank", "s9", row(1, subject="nps", detail="promoters"), close(2))
    report = world.night()
    assert report.publish.generation == before + 1
    new = world.workspace.registry().memories.filter(session_id="s9")
    assert new["memory_id"].to_list() == ["mem-0003"]


def test_its_corroborations_have_room_for_what_is_kept_now(world: World) -> None:
    """Columns that were added since are null in old rows, in the tables and in the SQL views."""
    world.session("bank", "s9", row(1, subject="aum", detail="assets!", source="CHAT"), close(2))
    world.night()
    found = world.workspace.registry().corroborations.sort("session_id")
    assert found.select("session_id", "source", "metadata").rows() == [
        ("s2", None, None),
        ("s9", "CHAT", "{}"),
    ]
    with duckdb.connect(str(world.home / "registry.duckdb"), read_only=True) as db:
        rows = db.execute("select source from corroborations order by session_id").fetchall()
    assert rows == [(None,), ("CHAT",)]


def test_it_can_be_rebuilt(world: World) -> None:
    """Its ledgers, verdicts, intents and allocation log are still understood."""
    target = world.root / "again"
    assert rebuild(world.workspace, target, run_id="r", now=world.now).lost == ()
    registry = Workspace.load(**{**world.flags, "home": str(target)}).registry()
    columns = ["tenant_id", "memory_id", "subject"]
    assert set(registry.memories.select(columns).rows()) == MEMORIES
    assert registry.retirements.height == 1
