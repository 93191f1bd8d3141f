"""Evaluating a registry night after night: history, and a word when quality falls."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memory_assets.domain.visibility import Principal
from memory_assets.errors import AccessDenied, UnknownTenantError, UsageError
from memory_assets.pipeline.upkeep.evaluation_run import evaluate_file, evaluate_registry, record
from memory_assets.steps.search.evaluate import Evaluation
from tests.building import close, row
from tests.nights import World

ADMIN = Principal.local("clinic")


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.tenants('[tenants.clinic]\nreview = "automatic"\n[tenants.bank]\n')
    content = {"subject": "Ablation", "detail": "by catheter"}
    for number, question in enumerate(("how many?", "ablations by year?")):
        world.session(
            "clinic", f"s{number}", row(1, question_context=question, **content), close(2)
        )
    world.night()
    return world


def with_hybrid(evaluation: Evaluation, generation: int, **changes: float) -> Evaluation:
    """The same evaluation, of another generation and with other figures for the hybrid."""
    rows = tuple({**r, **changes} if r["leg"] == "hybrid" else r for r in evaluation.rows)
    return replace(evaluation, generation=generation, rows=rows)


def test_each_generation_has_one_entry_in_the_history(world: World) -> None:
    """Measuring again changes nothing; the next generation is added after it."""
    first = evaluate_registry(world.workspace, now=world.now)
    assert first.evaluation.by_source == {"recurring": 1}
    assert first.before is None
    again = evaluate_registry(world.workspace, now=world.now)
    assert len(again.history) == 1
    later = record(world.workspace, with_hybrid(first.evaluation, 2))
    assert [e["generation"] for e in later.history] == [1, 2]
    assert later.fallen == ()


def test_the_history_outlives_the_derived_tables(world: World) -> None:
    """They may be deleted at any time, and then a fall would pass unseen."""
    good = evaluate_registry(world.workspace, now=world.now).evaluation
    shutil.rmtree(world.home / "derived")
    bad = record(world.workspace, with_hybrid(good, 2, recall_at_10=0.5))
    assert bad.fallen == ("hybrid recall_at_10 fell from 1.000 to 0.500",)


def test_a_history_at_its_former_place_still_counts(world: World) -> None:
    """Figures that an earlier version wrote are compared with, and not written twice."""
    good = evaluate_registry(world.workspace, now=world.now).evaluation
    now = world.workspace.home.evaluations
    now.rename(world.home / "derived" / "retrieval_evaluation.jsonl")
    again = record(world.workspace, good)
    assert (len(again.history), now.exists()) == (1, False)
    bad = record(world.workspace, with_hybrid(good, 2, recall_at_10=0.5))
    assert [entry["generation"] for entry in bad.history] == [1, 2]
    assert bad.fallen


def test_a_fall_is_put_into_words(world: World) -> None:
    """Recall or gain of the hybrid, against the newest earlier generation of the same space."""
    good = evaluate_registry(world.workspace, now=world.now).evaluation
    bad = record(world.workspace, with_hybrid(good, 2, recall_at_10=0.5))
    assert bad.fallen == ("hybrid recall_at_10 fell from 1.000 to 0.500",)
    other_space = replace(with_hybrid(good, 3, recall_at_10=0.1), space_id="another")
    assert record(world.workspace, other_space).fallen == ()


def test_a_small_fall_is_no_alarm(world: World) -> None:
    """Questions come and go: up to two points are noise."""
    good = evaluate_registry(world.workspace, now=world.now).evaluation
    assert record(world.workspace, with_hybrid(good, 2, recall_at_10=0.985)).fallen == ()


def test_one_tenants_evaluation_stays_out_of_the_history(world: World) -> None:
    """Figures of a part would look like a fall of the whole."""
    found = evaluate_registry(world.workspace, now=world.now, principal=ADMIN)
    assert found.history == ()
    assert found.evaluation.cases == 1
    with pytest.raises(AccessDenied):
        evaluate_registry(
            world.workspace, now=world.now, principal=Principal("clinic", "ADVISOR", "anna")
        )
    with pytest.raises(UnknownTenantError):
        evaluate_registry(world.workspace, now=world.now, principal=Principal.local("nowhere"))


def lines(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return path


def test_a_labelled_file_is_measured_against_the_registry(world: World, tmp_path: Path) -> None:
    """The questions are the file's, the memories the tenant's."""
    path = lines(tmp_path / "a.jsonl", {"query": "catheter", "relevant": ["mem-0001"]})
    found = evaluate_file(world.workspace, path, now=world.now, principal=ADMIN)
    hybrid = found.of("hybrid")
    assert hybrid is not None
    assert hybrid["recall_at_1"] == 1
    added = evaluate_registry(world.workspace, now=world.now, principal=ADMIN, labelled=path)
    assert added.evaluation.by_source == {"labelled": 1, "recurring": 1}
    with pytest.raises(UnknownTenantError):
        evaluate_file(world.workspace, path, now=world.now, principal=None)


def test_outside_data_needs_no_tenant(world: World, tmp_path: Path) -> None:
    """Questions that bring their texts are measured in a registry of their own."""
    path = lines(
        tmp_path / "b.jsonl",
        {"term": "catheter", "text": "a thin tube for the heart", "lang": "en"},
        {"term": "ward", "text": "a part of a hospital", "lang": "en"},
    )
    found = evaluate_file(world.workspace, path, now=world.now, principal=None)
    assert found.cases == 2
    assert found.of("hybrid", "en", "en") is not None


def test_an_empty_file_is_refused(world: World, tmp_path: Path) -> None:
    """Nothing to measure is said, not measured."""
    path = tmp_path / "empty.jsonl"
    path.write_text("\n")
    with pytest.raises(UsageError):
        evaluate_file(world.workspace, path, now=world.now, principal=ADMIN)
