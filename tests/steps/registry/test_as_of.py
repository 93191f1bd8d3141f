"""Older states by number and time, and what changed between two of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memory_assets.domain.intents import AssignTier, Intent, Retire, Retract, Supersede
from memory_assets.errors import UnknownGeneration, UsageError
from memory_assets.steps.registry.as_of import compare, generation_at, parse_as_of
from memory_assets.steps.registry.view import RegistryView
from memory_assets.storage.generations import Snapshot
from memory_assets.storage.intents import append_intents
from tests.building import close, row
from tests.nights import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Three published memories of one tenant."""
    made = World(tmp_path)
    made.tenants("[tenants.bank]\nreview = 'automatic'\n")
    made.session("bank", "s1", row(1), row(2), row(3), close(4))
    made.night()
    return made


def ask(world: World, kind: Callable[..., Intent], memory: str, **more: Any) -> None:
    """Records one intent and runs the night that applies it."""
    intent = kind(
        tenant_id="bank",
        memory_id=memory,
        decided_by="reviewer anna",
        decided_at=world.now,
        **more,
    )
    append_intents(world.workspace.home, [intent])
    assert world.night().publish.intents_applied == 1


def active(world: World, as_of: int | datetime | None) -> list[str]:
    """The memories that were active then."""
    store = world.workspace.generations
    view = RegistryView.of(Snapshot(store, generation_at(store, as_of)))
    return view.active()["memory_id"].to_list()


def test_every_time_has_exactly_one_answer(world: World) -> None:
    """Just before a supersession the old memory answers, at it and after it the new one."""
    ask(world, Supersede, "mem-0001", superseded_by="mem-0002")
    at = world.now
    before, after = at - timedelta(microseconds=1), at + timedelta(days=1)
    assert active(world, before) == ["mem-0001", "mem-0002", "mem-0003"]
    assert active(world, at) == active(world, after) == ["mem-0002", "mem-0003"]
    assert active(world, 1) == active(world, before)
    assert active(world, 2) == active(world, None) == active(world, at)


def test_what_is_not_there_is_refused_with_what_is(world: World) -> None:
    """A number ahead, a time before the first night, and something that is neither."""
    store = world.workspace.generations
    with pytest.raises(UnknownGeneration, match="not published yet"):
        generation_at(store, 2)
    with pytest.raises(UnknownGeneration, match="older than what is kept"):
        generation_at(store, world.now - timedelta(days=1))
    for text in ("yesterday", "2026-01-31", "-1"):
        with pytest.raises(UnknownGeneration, match="neither"):
            parse_as_of(text)
    assert parse_as_of("7") == 7


def test_a_difference_names_each_change_once(world: World) -> None:
    """Added, superseded, retired, moved to another tier, seen again, and back again."""
    ask(world, Supersede, "mem-0001", superseded_by="mem-0002")
    ask(world, Retire, "mem-0003", reason="withdrawn")
    ask(world, AssignTier, "mem-0002", tier="core", reason="used often")
    again = row(1, subject="concept 2", detail="definition 2")
    world.session("bank", "s2", again, row(2, subject="fresh", detail="fresh"), close(3))
    world.night()
    store = world.workspace.generations
    first, last = generation_at(store, 1), generation_at(store, None)
    found = compare(store, first, last, tenant_id="bank").to_dict()
    named = {k: [r["memory_id"] for r in v] for k, v in found.items() if isinstance(v, list)}
    assert named == {
        "added": ["mem-0004"],
        "superseded": ["mem-0001"],
        "restored": [],
        "retired": ["mem-0003"],
        "retiered": ["mem-0002"],
        "corroborated": ["mem-0002"],
    }
    assert found["retiered"][0]["from_tier"] == "recall"
    assert compare(store, first, first, tenant_id="bank").empty
    with pytest.raises(UsageError, match="is later"):
        compare(store, last, first, tenant_id="bank")
    assert compare(store, first, last, tenant_id="clinic").empty
    ask(world, Retract, "mem-0001", superseded_by="mem-0002")
    now = generation_at(store, None)
    assert [r["memory_id"] for r in compare(store, last, now, tenant_id="bank").restored] == [
        "mem-0001"
    ]
