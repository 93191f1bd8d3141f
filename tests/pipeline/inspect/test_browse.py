"""The registry as people read it, and the boundary that it is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from memory_assets.domain.events import DECISION_TYPES
from memory_assets.domain.intents import AssignTier, ImportMemory, Intent, Retire
from memory_assets.errors import UnknownMemoryError, UnknownTenantError
from memory_assets.pipeline.inspect.browse import list_memories, show_memory
from memory_assets.storage.intents import append_intents
from tests.building import close, row
from tests.nights import NOW, World


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    """Two tenants with automatic review; the clinic has two memories, one of them seen again."""
    world = World(tmp_path)
    world.tenants('[tenants.clinic]\nreview = "automatic"\n[tenants.bank]\nreview = "automatic"\n')
    world.session("clinic", "one", row(1), row(2), close(3))
    world.session("clinic", "two", row(1, subject="Concept 2", detail="Definition 2."), close(2))
    world.session("bank", "one", row(1, subject="secret", detail="of the bank"), close(2))
    return world


def _intend(world: World, *intents: Intent) -> None:
    append_intents(world.workspace.home, intents)
    world.night()


def _about(memory_id: str) -> dict[str, object]:
    common = {"tenant_id": "clinic", "decided_by": "reviewer anna", "decided_at": NOW}
    return {**common, "memory_id": memory_id}


def test_a_list_names_the_memories_of_one_tenant(world: World) -> None:
    """In the order of their ids, with tier and origin, and nothing of anybody else."""
    world.night()
    found = list_memories(world.workspace, tenant_id="clinic")
    assert [(m["memory_id"], m["subject"], m["tier"]) for m in found.memories] == [
        ("mem-0001", "concept 1", "recall"),
        ("mem-0002", "concept 2", "recall"),
    ]
    assert (found.total, found.generation, found.hidden) == (2, 1, {})
    assert {m["tenant_id"] for m in found.memories} == {"clinic"}


def test_a_limit_pages_and_says_how_many_there_are(world: World) -> None:
    """One of two is shown, two are counted."""
    world.night()
    found = list_memories(world.workspace, tenant_id="clinic", limit=1)
    assert (len(found.memories), found.total) == (1, 2)


def test_tiers_and_retired_memories(world: World) -> None:
    """A tier narrows the list; a retired memory is listed only when all are asked for."""
    world.night()
    _intend(
        world,
        AssignTier(**_about("mem-0001"), tier="core"),  # type: ignore[arg-type]
        Retire(**_about("mem-0002"), reason="outdated"),  # type: ignore[arg-type]
    )
    core = list_memories(world.workspace, tenant_id="clinic", tier="core")
    assert [m["memory_id"] for m in core.memories] == ["mem-0001"]
    everything = list_memories(world.workspace, tenant_id="clinic", everything=True)
    assert [(m["memory_id"], m["status"]) for m in everything.memories] == [
        ("mem-0001", "active"),
        ("mem-0002", "retired"),
    ]


def test_one_memory_in_full(world: World) -> None:
    """All columns, the row that it came from, and the words of whoever said it again."""
    world.night()
    found = show_memory(world.workspace, "mem-0002", tenant_id="clinic")
    assert (found["ref"], found["detail"], found["origin"]) == (
        "seq:2",
        "definition 2",
        "automatic",
    )
    (again,) = found["corroborations"]
    assert (again["session_id"], again["subject"], again["kind"]) == ("two", "Concept 2", "equal")


@pytest.mark.parametrize("tenant", [None, "", "nobody"])
def test_without_a_known_tenant_nothing_is_shown(world: World, tenant: str | None) -> None:
    """No tenant and an unknown one are denied by name, in both reads."""
    world.night()
    with pytest.raises(UnknownTenantError):
        list_memories(world.workspace, tenant_id=tenant)
    with pytest.raises(UnknownTenantError):
        show_memory(world.workspace, "mem-0001", tenant_id=tenant)


def test_another_tenants_memory_is_unknown(world: World) -> None:
    """An id that only the other tenant has looks exactly like one that nobody has."""
    world.night()
    with pytest.raises(UnknownMemoryError) as caught:
        show_memory(world.workspace, "mem-0002", tenant_id="bank")
    assert "concept" not in str(caught.value)
    with pytest.raises(UnknownMemoryError):
        show_memory(world.workspace, "mem-0999", tenant_id="bank")


def _open_the_other_boundaries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets every type of decision and every name through, except at the list itself."""
    import memory_assets.pipeline.workspace  # noqa: F401 - everything that must be opened is loaded

    for name, module in list(sys.modules.items()):
        if name.startswith("memory_assets.") and not name.endswith(".boundaries"):
            for rule in ("REUSABLE_TYPES", "SEARCHABLE_TYPES"):
                if hasattr(module, rule):
                    monkeypatch.setattr(module, rule, DECISION_TYPES)
            if hasattr(module, "refuse") and name.startswith("memory_assets.domain"):
                monkeypatch.setattr(module, "refuse", lambda decision, names: None)


def _imported(memory_id: str, number: int, type: str, subject: str) -> ImportMemory:
    return ImportMemory(
        tenant_id="old",
        memory_id=memory_id,
        session_id="legacy",
        decision_seq=number,
        record_decided_at=NOW,
        type=type,
        subject=subject,
        detail="as the old system kept it",
        scope="||tenant",
        decided_by="reviewer anna",
        decided_at=NOW,
    )


def test_the_list_holds_alone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the other boundaries opened and schema choices published, none of them is shown."""
    _open_the_other_boundaries(monkeypatch)
    _intend(
        world,
        _imported("mem-0001", 1, "concept_clarified", "Elective"),
        _imported("mem-0002", 2, "concept_clarified", "fact_cardioversione"),
        _imported("mem-0003", 3, "concept_clarified", "dim_time"),
        _imported("mem-0004", 4, "table_promoted", "include this table"),
    )
    published = world.workspace.registry().active().filter(tenant_id="old")
    assert published.height == 4  # the doors are open
    world.tenants("[tenants.old]\n")
    for everything in (False, True):
        found = list_memories(world.workspace, tenant_id="old", everything=everything)
        assert [m["memory_id"] for m in found.memories] == ["mem-0001"]
        assert found.hidden == {"schema-name": 2, "not-reusable": 1}
    for hidden in ("mem-0002", "mem-0003", "mem-0004"):
        with pytest.raises(UnknownMemoryError):
            show_memory(world.workspace, hidden, tenant_id="old")
