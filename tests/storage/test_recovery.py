"""What a killed publication left is taken back; what is published is not touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_assets.errors import CurrentMissing
from memory_assets.storage.generations import Generation, GenerationStore
from memory_assets.storage.home import Home
from memory_assets.storage.index import SpaceIndex
from memory_assets.storage.index_files import discard_tags_after, manifests
from memory_assets.storage.recovery import Recovery, pinned_versions, recover
from tests.building import close, row
from tests.nights import World, tree


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Two generations."""
    made = World(tmp_path)
    made.tenants("[tenants.bank]\nreview = 'automatic'\n")
    for n in (1, 2):
        made.session("bank", f"s{n}", row(1, subject=f"s{n}"), close(2))
        made.night()
    return made


def published(world: World) -> dict[str, str]:
    """Every file that publication writes."""
    home = world.home
    return tree(home / "generations", home / "registry", home / "index")


def test_after_a_clean_end_there_is_nothing_to_do(world: World) -> None:
    """Recovery reports nothing and changes no byte."""
    store = world.workspace.generations
    before = published(world)
    assert recover(store, store.current()[0]) == Recovery()
    assert not Recovery()
    assert published(world) == before


def test_every_leftover_is_taken_back(world: World) -> None:
    """Manifest, index version, its tag, a table that nobody names, files cut short."""
    store = world.workspace.generations
    current, _ = store.current()
    before = published(world)
    store.stage_manifest(Generation(3, 2, world.now.isoformat(), "killed"))
    (space,) = current.spaces
    index = SpaceIndex.open(world.home / "index", space.space, table=space.table)
    index._table.delete("true")
    index.tag("gen-00000003")
    SpaceIndex.open(world.home / "index", space.space, table="stray")
    for name in (".CURRENT.7.tmp", "generations/00000002/.manifest.json.7.tmp"):
        (world.home / name).write_bytes(b"cut short")
    (world.home / ".registry.duckdb.7.tmp").write_bytes(b"somebody else's")
    found = recover(store, current)
    assert (found.unpublished, found.index_tables, found.temporary) == (1, 1, 2)
    assert found.index_versions == 1
    assert recover(store, current) == Recovery()
    left = {p for p in published(world) if "_transactions" not in p and "_deletions" not in p}
    # Lance finds the newest version without its hint, and writes it again.
    known = {p for p in before if "_transactions" not in p and "latest_version_hint" not in p}
    assert left == known
    assert not list(world.home.glob(".CURRENT*"))
    assert (world.home / ".registry.duckdb.7.tmp").exists()


def test_a_torn_tag_goes_and_others_stay(world: World) -> None:
    """A tag that cannot be read protects nothing and would stop the clean-up."""
    (space,) = world.workspace.generations.current()[0].spaces
    table = world.home / "index" / f"{space.table}.lance"
    tags = table / "_refs" / "tags"
    (tags / "gen-00000009.json").write_bytes(b"")
    assert discard_tags_after(table, space.version) == 1
    assert sorted(p.stem for p in tags.iterdir()) == ["gen-00000001", "gen-00000002"]


def test_an_unreadable_older_generation_does_not_stop_the_night(world: World) -> None:
    """It can be read by nobody, and pins nothing any more; the present one is whole."""
    store = world.workspace.generations
    store.manifest_path(1).write_bytes(b"{")
    current, _ = store.current()
    (versions,) = pinned_versions(store, current).values()
    assert versions == {current.spaces[0].version}
    world.session("bank", "s3", row(1, subject="s3"), close(2))
    assert world.night().publish.generation == 3


def test_a_new_home_has_a_pointer_before_anything_else(tmp_path: Path) -> None:
    """CURRENT names generation 0, so that its absence beside generations always means a loss."""
    store = GenerationStore(Home(tmp_path))
    assert store.current() == (store.current()[0], None)
    generation, tag = store.begin()
    assert (generation.number, generation.parent) == (0, None)
    assert tag is not None
    assert store.begin() == (generation, tag)
    store.stage_manifest(Generation(1, None, "", "killed"))
    assert store.current()[0].number == 0
    store.home.current.unlink()
    with pytest.raises(CurrentMissing):
        store.current()


def test_taking_back_never_reaches_a_kept_version(world: World) -> None:
    """Whatever generation is pinned keeps its index version."""
    store = world.workspace.generations
    current, _ = store.current()
    table = world.home / "index" / f"{current.spaces[0].table}.lance"
    before = manifests(table).keys()
    recover(store, current)
    assert manifests(table).keys() == before
    first = store.load(1).spaces[0].version
    assert first in before
