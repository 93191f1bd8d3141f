"""Near duplicates under the automatic policy, in real nights with a real (if simple) space."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory_assets.steps.promotion.settle import near_duplicates
from tests.building import close, row
from tests.nights import World

FIRST = "Patients admitted to a ward of the hospital during the calendar year"
ALIKE = "Patients who are admitted to a ward of the hospital during the calendar year"


def world_with(tmp_path: Path, threshold: str = "") -> World:
    """One memory on record, and a tenant with this threshold."""
    world = World(tmp_path)
    world.tenants(f'[tenants.ws]\nreview = "automatic"\n{threshold}')
    world.session("ws", "s1", row(1, subject="Inpatient", detail=FIRST), close(2))
    assert world.night().publish.new_memories == 1
    return world


PROVEN = 'duplicate_thresholds = { "hashed:64" = 0.6 }\n'


def test_a_proven_duplicate_corroborates(tmp_path: Path) -> None:
    """The memory is seen again; text, cosine, space, guards and rule version are on record."""
    world = world_with(tmp_path, PROVEN)
    world.session("ws", "s2", row(1, subject="Inpatient", detail=ALIKE), close(2))
    report = world.night()
    assert (report.publish.new_memories, report.publish.corroborated) == (0, 1)
    (found,) = world.workspace.registry().corroborations.to_dicts()
    assert (found["memory_id"], found["kind"]) == ("mem-0001", "duplicate")
    assert (found["detail"], found["session_id"]) == (ALIKE, "s2")
    assert 0.6 <= found["cosine"] <= 1.0
    assert found["space_id"].startswith(world.workspace.embedder.model)
    assert found["rule_version"] == json.loads(found["guards"])["rule_version"]
    assert not world.night().publish.published


def test_without_a_threshold_only_equal_text_corroborates(tmp_path: Path) -> None:
    """What stands near goes to a reviewer; a spelling of the same text does not need one."""
    world = world_with(tmp_path)
    world.session("ws", "s2", row(1, subject="Inpatient", detail=ALIKE), close(2))
    world.session("ws", "s3", row(1, subject="Inpatient", detail=FIRST + "."), close(2))
    report = world.night()
    assert (report.publish.new_memories, report.publish.corroborated) == (0, 1)
    assert report.waiting == {"ws": 1}
    assert world.night().waiting == {"ws": 1}, "it waits until a person has decided"
    world.review("ws", "s2", 1, "accept")
    assert world.night().publish.new_memories == 1


def test_a_contradiction_is_a_memory_of_its_own(tmp_path: Path) -> None:
    """Another definition of the same subject: both are kept, whatever the threshold would allow."""
    world = world_with(tmp_path, PROVEN)
    world.session("ws", "s2", row(1, subject="Adult", detail="patients of 18 years"), close(2))
    world.night()
    world.session("ws", "s3", row(1, subject="Adult", detail="patients of 21 years"), close(2))
    report = world.night()
    assert (report.publish.new_memories, report.publish.corroborated) == (1, 0)
    assert report.waiting == {}


def test_what_stands_near_nothing_is_added(tmp_path: Path) -> None:
    """The policy goes on accepting what is new."""
    world = world_with(tmp_path, PROVEN)
    world.session("ws", "s2", row(1, subject="Fee", detail="two percent a year"), close(2))
    assert world.night().publish.new_memories == 1


@pytest.mark.parametrize("other", [{"client_id": "c1"}, {"user_id": "u1"}])
def test_another_scope_is_neither_proof_nor_doubt(tmp_path: Path, other: dict[str, str]) -> None:
    """What other people see never settles a decision."""
    world = world_with(tmp_path, PROVEN)
    world.session("ws", "s2", row(1, subject="Inpatient", detail=ALIKE, **other), close(2))
    assert world.night().publish.new_memories == 1


def test_a_threshold_belongs_to_its_model(tmp_path: Path) -> None:
    """The figure of another model settles nothing here."""
    world = world_with(tmp_path, 'duplicate_thresholds = { "voyage:voyage-3-large" = 0.6 }\n')
    world.session("ws", "s2", row(1, subject="Inpatient", detail=ALIKE), close(2))
    assert world.night().waiting == {"ws": 1}


def test_manual_tenants_are_not_judged(tmp_path: Path) -> None:
    """A reviewer decides everything there, so no verdict is kept."""
    world = World(tmp_path)
    world.session("ws", "s1", row(1), close(2))
    world.night()
    assert near_duplicates(world.workspace.derived).is_empty()
