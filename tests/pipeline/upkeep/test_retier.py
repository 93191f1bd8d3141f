"""Tiers in real nights: uses lift, time cools, administrators override, every change is a row."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memory_assets.domain.visibility import Principal
from memory_assets.errors import AccessDenied, UnknownMemoryError, UsageError
from memory_assets.pipeline.upkeep.retier import (
    judge_tiers,
    override_tier,
    retier,
    tier_history,
)
from memory_assets.storage.access_log import UseEvent, append_uses
from memory_assets.storage.publications import noted_publications
from tests.building import close, row
from tests.nights import World

ADMIN = Principal.local("ws")


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.tenants('[tenants.ws]\nreview = "automatic"\n')
    ts = (world.now - timedelta(days=1)).isoformat()
    world.session("ws", "s1", row(1, ts=ts), row(2, ts=ts), close(3))
    world.night()
    return world


def use(world: World, memory_id: str, times: int, ago: timedelta = timedelta(hours=1)) -> None:
    """Records uses of a memory, each by a row of its own."""
    events = [
        UseEvent(
            tenant_id="ws",
            session_id=f"u-{memory_id}-{world.now - ago:%m%d%H%M}",
            decision_seq=n,
            fact_no=0,
            memory_id=memory_id,
            used_at=world.now - ago,
            used_by="reviewer anna",
        )
        for n in range(1, times + 1)
    ]
    append_uses(world.workspace.home.access_log, events)


def tiers(world: World) -> dict[str, str]:
    """The tier of each active memory as published."""
    return dict(world.workspace.registry().active().select("memory_id", "tier").rows())


def settle(world: World) -> Any:
    """Judges tiers and publishes what is due."""
    found = retier(world.workspace, now=world.now)
    world.night()
    return found


def test_uses_lift_to_core_and_time_cools(world: World) -> None:
    """Five uses make core, a fortnight without one ends it, ninety days archive, a use revives."""
    use(world, "mem-0001", 5)
    world.night()
    settle(world)
    assert tiers(world) == {"mem-0001": "core", "mem-0002": "recall"}
    world.now += timedelta(days=14)
    settle(world)
    assert tiers(world)["mem-0001"] == "recall"
    world.now += timedelta(days=90)
    settle(world)
    assert set(tiers(world).values()) == {"archival"}
    use(world, "mem-0001", 1, timedelta(minutes=5))
    world.night()
    settle(world)
    assert tiers(world) == {"mem-0001": "recall", "mem-0002": "archival"}
    rows = world.workspace.registry().tiers.filter(memory_id="mem-0001")
    assert rows["tier"].to_list() == ["core", "recall", "archival", "recall"]
    assert rows["reason"].str.split(":").list.first().to_list() == [
        "hot",
        "cooled",
        "idle",
        "accessed",
    ]
    assert json.loads(rows["inputs"][0])["accesses_7d"] == 5
    history = tier_history(world.workspace.registry(), "ws")
    assert history.select("core", "recall", "archival").rows() == [
        (0, 2, 0),
        (1, 1, 0),
        (0, 2, 0),
        (0, 0, 2),
        (0, 1, 1),
    ]


def test_judging_twice_records_once(world: World) -> None:
    """Changes that wait for publication are not repeated, and a quiet night records nothing."""
    use(world, "mem-0001", 5)
    world.night()
    retier(world.workspace, now=world.now)
    retier(world.workspace, now=world.now)
    report = world.night()
    assert report.publish.intents_applied == 1
    assert report.publish.refused_intents == ()
    assert retier(world.workspace, now=world.now).changes == ()
    assert not world.night().publish.published


def test_searches_and_future_uses_are_no_accesses(world: World) -> None:
    """Neither a hit nor a clock that runs ahead makes a memory hot."""
    from memory_assets.steps.search.types import SearchRequest

    use(world, "mem-0002", 9, timedelta(days=-3))
    for _ in range(6):
        world.workspace.search(SearchRequest("concept 1", ADMIN, world.now))
    world.night()
    assert judge_tiers(world.workspace, now=world.now).changes == ()


def test_age_counts_from_publication(world: World) -> None:
    """Old decisions that are published tonight are not idle yet, times on record or not."""
    world.session(
        "ws", "old", row(1, ts="2020-01-01T00:00:00Z", subject="ancient", detail="of old"), close(2)
    )
    world.night()
    assert settle(world).changes == ()
    home = world.workspace.home
    assert sorted(noted_publications(home.publications)) == [1, 2]
    home.publications.write_text("damaged")
    assert judge_tiers(world.workspace, now=world.now).changes == ()


def test_an_override_holds_and_expires(world: World) -> None:
    """A pinned memory stays in core without any use until its time is up."""
    until = world.now + timedelta(days=30)
    override(world, "core", until=until)
    retier(world.workspace, now=world.now)
    world.night()
    assert tiers(world)["mem-0002"] == "core"
    world.now += timedelta(days=29)
    assert settle(world).overridden == 1
    assert tiers(world)["mem-0002"] == "core"
    world.now += timedelta(days=2)
    settle(world)
    assert tiers(world)["mem-0002"] == "recall"


def test_an_override_may_keep_a_memory_where_it_is(world: World) -> None:
    """It holds recall against ninety idle days."""
    override(world, "recall", until=world.now + timedelta(days=365))
    assert world.night().publish.intents_applied == 1
    world.now += timedelta(days=100)
    settle(world)
    assert tiers(world) == {"mem-0001": "archival", "mem-0002": "recall"}


def test_who_may_override(world: World) -> None:
    """Supervisors and administrators, in their tenants, active memories, and with an end."""
    later = world.now + timedelta(days=1)
    for persona in ("ADVISOR", "CLIENT", "NEXTGEN_HEIR"):
        with pytest.raises(AccessDenied):
            override(world, "core", until=later, principal=Principal("ws", persona, "u"))
    with pytest.raises(AccessDenied):
        override(world, "core", until=later, principal=Principal.local("az"))
    with pytest.raises(UsageError):
        override(world, "core", until=world.now)
    with pytest.raises(UnknownMemoryError):
        override(world, "core", until=later, memory="mem-0099")


def test_only_a_person_overrides(world: World) -> None:
    """Whatever the persona that the command acts as: an agent is turned away."""
    with pytest.raises(AccessDenied, match="agent"):
        override(world, "core", by="agent-7", until=world.now + timedelta(days=1))


def override(
    world: World,
    tier: Any,
    *,
    memory: str = "mem-0002",
    principal: Principal = ADMIN,
    by: str = "anna",
    **more: Any,
) -> None:
    """An administrator's choice about one memory."""
    override_tier(
        world.workspace,
        principal,
        "ws",
        [memory],
        tier,
        by=by,
        reason="test",
        now=world.now,
        **more,
    )
