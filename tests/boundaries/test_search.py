"""The search filter holds alone: schema choices that reached registry and index leave no search."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_assets.domain.events import DECISION_TYPES
from memory_assets.domain.visibility import Principal
from memory_assets.errors import UnknownMemoryError
from memory_assets.steps.search import searcher as search
from memory_assets.steps.search.lookup import get_memory
from tests.boundaries import opened
from tests.searching import TENANT, Published, memory

QUERY = "fact_interventi include this table cod_paz dim_time calendar fact_cardioversione Ablation"
ROWS = {1: opened.CONCEPT, **opened.CHOICES}
TYPED = {n for n, row in ROWS.items() if row["type"] != "concept_clarified"}
POSING = {4, 5}
"""``dim_time`` and ``fact_cardioversione`` as concepts. (A table of a session that has no such
shape is known by that session alone: preview, review and summary refuse it.)"""


@pytest.fixture(name="home")
def _home(tmp_path: Path) -> Published:
    """As if the four other boundaries had been open: all rows are memories, active and indexed."""
    home = Published(tmp_path)
    rows = [
        memory(row["subject"], row["detail"], type=row["type"]) for _, row in sorted(ROWS.items())
    ]
    home.publish(rows)
    return home


def _found(home: Published) -> set[int]:
    return {int(memory_id[4:]) for memory_id in home.ids(QUERY)}


def test_no_table_or_column_choice_leaves_a_search(home: Published) -> None:
    """A promoted table, an "include this table", an excluded one, a column: found by nobody."""
    assert 1 in _found(home)
    assert not _found(home) & TYPED


def test_names_that_pose_as_concepts_are_dropped_with_their_reason(home: Published) -> None:
    """Whoever asks why learns that a bare schema name is no concept."""
    dropped = {d.memory_id: d.code for d in home.search(QUERY, explain=True).dropped}
    assert dropped == {f"mem-{n:04d}": "schema-name" for n in POSING}
    assert not _found(home) & POSING


def test_they_are_not_read_by_their_ids_either(home: Published) -> None:
    """An agent that guesses an id gets no schema choice out of it."""
    for number in TYPED | POSING:
        with pytest.raises(UnknownMemoryError):
            get_memory(home.searcher, Principal.local(TENANT), f"mem-{number:04d}")


def test_they_are_really_in_the_index(home: Published, monkeypatch: pytest.MonkeyPatch) -> None:
    """With this boundary open as well, the rows of other types are found."""
    opened.open_search(monkeypatch)
    monkeypatch.setattr(search, "SEARCHABLE_TYPES", DECISION_TYPES)
    assert _found(home) & TYPED
