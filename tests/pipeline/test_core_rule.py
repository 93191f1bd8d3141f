"""The core rule holds alone: every other boundary is opened, and no schema choice is published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from memory_assets.domain.promotion import Accepted
from memory_assets.domain.schemas import SESSIONS
from memory_assets.errors import ChecksFailed
from memory_assets.steps.ledgers import ingest
from memory_assets.steps.ledgers.decide import current_decisions
from memory_assets.steps.promotion import publish
from memory_assets.steps.promotion.consolidate import Assessment
from memory_assets.steps.registry.view import RegistryView
from tests.building import close, note, row
from tests.nights import World

SCHEMA_CHOICES = [
    row(2, "table_promoted", subject="fact_interventi", detail="include this table"),
    row(3, "column_promoted", subject="cod_paz", detail="the patient's key"),
    row(4, subject="dim_time", detail="the calendar"),
    row(5, subject="fact_cardioversione", detail="the cardioversions"),
    row(6, "table_excluded", subject="dim_reparto", detail="not needed"),
]
MARKERS = [note(10 + n, "memory_promoted", f"seq:{n}") for n in range(1, 7)]


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A session with one concept and five schema choices, all of them marked as promoted."""
    made = World(tmp_path)
    concept = row(1, subject="Ablation", detail="ablazione_transcatetere = TRUE")
    made.session("clinic", "s1", concept, *SCHEMA_CHOICES, *MARKERS, close(20))
    made.workspace.ingest()
    made.workspace.decide()
    return made


def everything_accepted(
    home: Any, derived: Any, registry: RegistryView, settings: Any, **_: Any
) -> Assessment:
    """What comes through when preview, review and their filters let everything pass."""
    sessions = derived.read(ingest.GROUP, SESSIONS)
    decisions = current_decisions(derived, sessions).filter("in_force")
    accepted = tuple(Accepted(r, "reviewed", "reviewer anna") for r in decisions.to_dicts())
    return Assessment(decisions.with_columns(route=pl.lit("accepted")), accepted, ())


def test_no_schema_choice_becomes_memory_though_everybody_accepts_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Promotion itself takes clarified concepts only; the night goes on with those."""
    monkeypatch.setattr(publish, "assess_home", everything_accepted)
    result = world.workspace.publish(run_id="r", now=world.now)
    assert len(result.assessment.accepted) == 6
    assert result.new_memories == 1
    assert world.workspace.registry().memories["subject"].to_list() == ["Ablation"]


def test_a_generation_with_a_schema_choice_is_refused_whole(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If even promotion lets one through, the check before the commit refuses the generation."""
    monkeypatch.setattr(publish, "assess_home", everything_accepted)
    monkeypatch.setattr("memory_assets.domain.promotion.may_become_memory", lambda _: True)
    with pytest.raises(ChecksFailed) as raised:
        world.workspace.publish(run_id="r", now=world.now)
    assert "only_reusable_types" in [c.name for c in raised.value.results if not c.passed]
    assert world.workspace.registry().memories.is_empty()
