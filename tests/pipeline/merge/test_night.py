"""The nightly step of the merge: new with existing, nothing while nothing is new."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from memory_assets.embedding.hashed import HashedEmbedder
from memory_assets.errors import ProviderUnavailable, PublisherBusy
from memory_assets.pipeline.merge.night import propose_new
from memory_assets.storage.locks import exclusive
from tests.merging import NOW, TENANT, MergeWorld

PAIR = [
    ("Late order", "An order with flag_late = TRUE that lasts more than 24 hours"),
    ("Late order", "Order with flag_late = TRUE and that lasts over 24 hours"),
]


@pytest.fixture
def world(tmp_path: Path) -> MergeWorld:
    """A home with one definition."""
    made = MergeWorld(tmp_path)
    made.add(PAIR[:1])
    return made


def _files(world: MergeWorld) -> dict[str, bytes]:
    folder = world.home / "merge"
    return {str(p): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_new_memory_is_proposed_with_an_existing_one(world: MergeWorld) -> None:
    """The night after the second definition there is a proposal, and nothing is merged."""
    assert propose_new(world.workspace()).groups == 0
    world.add(PAIR[1:])
    found = propose_new(world.workspace())
    assert (found.idle, found.compared, found.found, found.groups) == (False, 1, 1, 1)
    assert set(world.status().values()) == {"active"}


def test_an_idle_night_does_nothing(world: MergeWorld) -> None:
    """Without a new generation or verdict no file is written and no model is asked."""
    propose_new(world.workspace())
    before = _files(world)
    workspace = world.workspace()
    assert propose_new(workspace).idle
    assert _files(world) == before
    assert "cache" not in vars(workspace)


def test_a_new_verdict_is_not_idle(world: MergeWorld) -> None:
    """A declined pair is gone from the proposals on the next night, without any publication."""
    world.add(PAIR[1:])
    propose_new(world.workspace())
    merge = world.merge()
    (row,) = merge.proposals(TENANT).to_dicts()
    merge.decline(TENANT, row["proposal_id"], reviewer="rosa", now=NOW)
    found = propose_new(world.workspace())
    assert (found.idle, found.groups) == (False, 0)


def test_an_empty_home_is_idle(tmp_path: Path) -> None:
    """Before the first generation there is nothing to compare, and no folder is made."""
    world = MergeWorld(tmp_path)
    (world.home / "settings.toml").write_text(world.settings)
    assert propose_new(world.workspace()).idle
    assert not (world.home / "merge").exists()


def test_a_merge_at_work_is_not_waited_for(world: MergeWorld) -> None:
    """While a long search holds the tables, the night hears so at once and tries again later."""
    lock = world.workspace().home.merge_lock
    with exclusive(lock, purpose="a long search"), pytest.raises(PublisherBusy, match="long"):
        propose_new(world.workspace())
    assert not propose_new(world.workspace()).idle


def test_another_generation_of_the_same_number_is_not_idle(world: MergeWorld) -> None:
    """After a restore the numbers come again, with other memories behind them."""
    propose_new(world.workspace())
    assert propose_new(world.workspace()).idle
    workspace = world.workspace()
    current, tag = workspace.generations.current()
    other = replace(current, run_id="another run")
    pointer = workspace.generations.pointer
    pointer.replace(workspace.generations.stage_manifest(other), expected_tag=tag)
    assert not propose_new(world.workspace()).idle


def test_a_night_with_missing_vectors_is_not_the_last_word(
    world: MergeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a memory has no vector the next night looks again, though nothing else is new."""
    propose_new(world.workspace())
    world.add(PAIR[1:])
    with monkeypatch.context() as patched:
        patched.setattr(HashedEmbedder, "embed_parts", _no_answer)
        assert not propose_new(world.workspace()).idle
    found = propose_new(world.workspace())
    assert (found.idle, found.compared, found.groups) == (False, 1, 1)
    assert propose_new(world.workspace()).idle


def _no_answer(*args: object, **kwargs: object) -> None:
    raise ProviderUnavailable("The service does not answer.", remedy="wait.")
