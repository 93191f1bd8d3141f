"""Snapshots: out of one home, into another, and out again as the same bytes."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from memory_assets.domain.visibility import Principal
from memory_assets.errors import AccessDenied, ImportRefused
from memory_assets.pipeline.exchange.formats import FORMATS
from memory_assets.pipeline.exchange.legacy_import import import_registry, plan_import
from memory_assets.pipeline.exchange.snapshots import (
    REGISTRY,
    export_tenant,
    import_snapshot,
    plan_snapshot,
)
from memory_assets.pipeline.upkeep.retier import override_tier
from tests.building import close, row
from tests.nights import World

ADMIN = Principal.local("ws")


def automatic(root: Path) -> World:
    """An installation with one automatic tenant."""
    world = World(root)
    world.tenants('[tenants.ws]\nreview = "automatic"\n')
    return world


@pytest.fixture(name="world", scope="module")
def _world(tmp_path_factory: pytest.TempPathFactory) -> World:
    world = automatic(tmp_path_factory.mktemp("from"))
    world.session(
        "ws",
        "s1",
        row(
            1,
            subject="naïve --> & <b>",
            detail="l1\nl2 `x` --> \u2028 end",
            rationale="why\n\n## no",
        ),
        row(
            2, client_id="c1", audience="profile", concepts=["a", "b"], metadata={"z": 1, "a": "é"}
        ),
        row(3, "memory_event", detail="Quorum is 51.", source="CHAT", user_id="u1"),
        close(4),
    )
    world.night()
    override_tier(
        world.workspace,
        ADMIN,
        "ws",
        ["mem-0002"],
        "core",
        until=world.now + timedelta(days=9),
        by="anna",
        reason="",
        now=world.now,
    )
    world.night()
    return world


def exported(world: World, name: str, as_of: int | None = None) -> bytes:
    """The tenant's export."""
    return export_tenant(world.workspace, ADMIN, "ws", name, as_of=as_of).data


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_the_round_trip_gives_the_same_bytes(world: World, tmp_path: Path, name: str) -> None:
    """Content, ids, keys, owners, times, metadata and tier come through."""
    data = exported(world, name)
    file = tmp_path / f"snapshot{FORMATS[name].suffix}"
    file.write_bytes(data)
    other = automatic(tmp_path / "to")
    plan = plan_snapshot(other.workspace, file, tenant_id="ws", by="reviewer anna", now=other.now)
    assert plan.to_dict()["records"] == 3
    assert import_snapshot(other.workspace, plan, now=other.now).new_memories == 0
    assert exported(other, name) == data
    again = plan_snapshot(other.workspace, file, tenant_id="ws", by="reviewer anna", now=other.now)
    assert (again.records.records, again.records.known) == ((), 3)


def test_registry_jsonl_round_trips_too(world: World, tmp_path: Path) -> None:
    """In the form of the source system, facts and metadata included."""
    data = exported(world, REGISTRY)
    file = tmp_path / "registry.jsonl"
    file.write_bytes(data)
    other = automatic(tmp_path / "to")
    plan = plan_import(other.workspace, file, tenant_id="ws", by="reviewer anna", now=other.now)
    import_registry(other.workspace, plan, now=other.now)
    assert exported(other, REGISTRY) == data


def test_an_export_is_of_one_generation(world: World) -> None:
    """The older state is still there as it was, with its tiers."""
    before, after = exported(world, "jsonl", as_of=1), exported(world, "jsonl")
    assert before.count(b"\n") == after.count(b"\n") == 3
    assert b'"tier":"core"' in after
    assert b'"tier":"core"' not in before


def test_an_export_holds_what_the_persona_may_see(world: World) -> None:
    """An advisor gets no other client's rows; a client gets no export at all."""
    seen = export_tenant(world.workspace, Principal("ws", "ADVISOR"), "ws", "jsonl")
    assert seen.memories == 1
    with pytest.raises(AccessDenied):
        export_tenant(world.workspace, Principal("ws", "CLIENT"), "ws", "jsonl")


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("jsonl", b"Quorum is 51", b"Quorum is 52"),
        ("jsonl", b'"tier":"recall"', b'"tier":"golden"'),
        ("jsonl", b"mem-0003", b"mem-0002"),
        (
            "jsonl",
            b"{",
            b"",
        ),
        ("jsonl", b'"fact_no":1,', b""),
        ("markdown", b"Quorum is 51.\n", b"Quorum is 52.\n"),
        ("parquet", b"PAR1", b"PARX"),
    ],
)
def test_a_changed_file_is_refused_whole(
    world: World, tmp_path: Path, name: str, old: bytes, new: bytes
) -> None:
    """Content that does not match its hash, a row too few or twice: nothing comes in."""
    data = exported(world, name)
    assert old in data
    file = tmp_path / f"snapshot{FORMATS[name].suffix}"
    file.write_bytes(data.replace(old, new))
    other = automatic(tmp_path / "to")
    with pytest.raises(ImportRefused):
        plan_snapshot(other.workspace, file, tenant_id="ws", by="reviewer anna", now=other.now)


def test_a_tenant_with_memories_of_its_own_is_left_alone(world: World, tmp_path: Path) -> None:
    """The same id would mean two things."""
    file = tmp_path / "s.jsonl"
    file.write_bytes(exported(world, "jsonl"))
    other = automatic(tmp_path / "to")
    other.session("ws", "own", row(1, detail="other"), close(2))
    other.night()
    with pytest.raises(ImportRefused, match="of its own"):
        plan_snapshot(other.workspace, file, tenant_id="ws", by="reviewer anna", now=other.now)
