"""Where a memory comes from, and what became of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_assets.domain.intents import AssignTier, Supersede
from memory_assets.errors import UnknownMemoryError, UnknownTenantError
from memory_assets.pipeline.inspect.history import memory_history
from memory_assets.storage.intents import append_intents
from tests.building import close, note, row
from tests.nights import NOW, World

SAID = {"subject": "Ablation", "detail": "procedure with flag = TRUE"}


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    """A memory that was marked in its session, and other decisions that are not of its making."""
    world = World(tmp_path)
    world.session(
        "clinic",
        "first",
        row(1, **SAID),
        row(2),
        row(3, "table_promoted", subject="procedures"),
        note(4, "memory_promoted", "seq:1"),
        note(5, "memory_promoted", "seq:2"),
        close(6),
    )
    world.session("clinic", "other", row(1, subject="x", detail="y"), close(2))
    return world


def _history(world: World, memory_id: str = "mem-0001") -> dict[str, Any]:
    return memory_history(world.workspace, memory_id, tenant_id="clinic").to_dict()


def test_it_names_the_rows_that_made_the_memory(world: World) -> None:
    """The decision and its marker, and nothing about other decisions of the session."""
    world.night()
    found = _history(world)
    assert [(e["ref"], e["type"]) for e in found["events"]] == [
        ("seq:1", "concept_clarified"),
        ("seq:4", "memory_promoted"),
    ]
    (decision,) = found["decisions"]
    assert (decision["role"], decision["accepted_by"]) == ("memory", "marker seq:4")
    assert decision["state"] == "in force"


def test_it_names_runs_and_generations(world: World) -> None:
    """The generation with its run and time, as the manifest has them."""
    world.night()
    (generation,) = _history(world)["generations"]
    assert generation == {
        "generation": 1,
        "kept": True,
        "run_id": "run-0331",
        "published_at": world.now.isoformat(),
    }


def test_restatements_belong_to_the_history(world: World) -> None:
    """A later session that says the same, accepted by a reviewer: its rows and its generation."""
    world.night()
    world.session("clinic", "second", row(1, **SAID), close(2))
    world.workspace.ingest()
    world.workspace.decide()
    world.review("clinic", "second", 1, "accept", reason="the same")
    world.night()
    found = _history(world)
    assert [(d["role"], d["session_id"], d["generation"]) for d in found["decisions"]] == [
        ("memory", "first", 1),
        ("equal", "second", 2),
    ]
    (review,) = found["reviews"]
    assert (review["verdict"], review["reviewer"], review["reason"]) == (
        "accept",
        "anna",
        "the same",
    )
    marker = found["events"][-1]
    assert (marker["session_id"], marker["ref"], marker["type"]) == (
        "second",
        "m:1",
        "memory_promoted",
    )
    assert [g["generation"] for g in found["generations"]] == [1, 2]


def test_a_decision_that_ended_later_is_told(world: World) -> None:
    """Withdrawn after publication, and the withdrawal withdrawn: both rows, and the state now."""
    world.night()
    path = world.ledgers / "clinic" / "first.jsonl"
    before = path.read_bytes()
    withdrawn = b'{"seq": 7, "ts": "2026-02-01T10:00:00Z", "type": "decision_withdrawn", '
    path.write_bytes(before + withdrawn + b'"detail": "seq:1"}\n')
    world.night()
    found = _history(world)
    assert found["decisions"][0]["state"] == "ended: withdrawn by seq:7"
    assert [e["ref"] for e in found["events"]] == ["seq:1", "seq:4", "seq:7"]
    with path.open("ab") as ledger:
        ledger.write(withdrawn.replace(b"7", b"8", 1) + b'"detail": "seq:7"}\n')
    world.night()
    found = _history(world)
    assert found["decisions"][0]["state"] == "in force"
    assert [e["ref"] for e in found["events"]] == ["seq:1", "seq:4", "seq:7", "seq:8"]


def test_changes_of_the_registry_are_told(world: World) -> None:
    """A tier, and a supersession seen from both ends."""
    world.night()
    common: dict[str, Any] = {
        "tenant_id": "clinic",
        "memory_id": "mem-0001",
        "decided_by": "reviewer anna",
        "decided_at": NOW,
    }
    append_intents(
        world.workspace.home,
        [
            AssignTier(**common, tier="core", reason="pinned"),
            Supersede(**common, superseded_by="mem-0002"),
        ],
    )
    world.night()
    old, new = _history(world), _history(world, "mem-0002")
    assert [c["change"] for c in old["changes"]] == ["superseded by", "tier"]
    assert old["memory"]["status"] == "superseded"
    assert [c["change"] for c in new["changes"]] == ["supersedes"]
    assert [g["generation"] for g in old["generations"]] == [1, 2]


def test_it_is_shown_to_the_tenant_alone(world: World) -> None:
    """No tenant, an unknown tenant and an unknown memory are named errors."""
    world.night()
    for tenant in (None, "nobody"):
        with pytest.raises(UnknownTenantError):
            memory_history(world.workspace, "mem-0001", tenant_id=tenant)
    with pytest.raises(UnknownMemoryError):
        _history(world, "mem-0999")
