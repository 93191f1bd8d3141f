"""The summary holds alone: with the other four boundaries open, it shows no schema choice."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_assets.pipeline.inspect.summary import summarise
from tests.boundaries import opened
from tests.nights import World


@pytest.fixture(name="world")
def _world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Seven rows marked as promoted, and nothing but the summary on guard."""
    opened.open_core_rule(monkeypatch)
    opened.open_preview(monkeypatch)
    opened.open_search(monkeypatch)
    opened.open_review(monkeypatch)
    world = World(tmp_path)
    world.session("clinic", "s1", *opened.session(marked=True))
    return world


def test_only_the_concept_is_shown_and_its_explanation_is_whole(world: World) -> None:
    """Table and field names inside an explanation stay; bare ones are not shown at all."""
    found = summarise(world.workspace, "s1")
    (memory,) = found.memories
    assert (memory["status"], memory["ref"], memory["subject"]) == ("approved", "seq:1", "Ablation")
    assert memory["detail"] == opened.CONCEPT["detail"]
    assert [(h["ref"], h["code"]) for h in found.hidden] == [
        ("seq:2", "not-reusable"),
        ("seq:3", "not-reusable"),
        ("seq:4", "schema-name"),
        ("seq:5", "schema-name"),
        ("seq:6", "not-reusable"),
        ("seq:7", "schema-name"),
    ]


def test_the_other_boundaries_are_really_open(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the summary's own list of types, the rows of other types would show."""
    opened.open_summary(monkeypatch)
    shown = {memory["decision_seq"] for memory in summarise(world.workspace, "s1").memories}
    assert 3 in shown
