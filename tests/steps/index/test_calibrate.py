"""Calibration: what is usual among a generation's own memories, the same every time."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from memory_assets.domain.ranking import Calibration
from memory_assets.domain.visibility import Principal
from memory_assets.steps.index.calibrate import ENOUGH, calibrate
from memory_assets.steps.search.searcher import Searcher
from memory_assets.steps.search.types import SearchRequest
from tests.searching import NOW, TENANT, Published, Row, memory
from tests.steps.search.test_searcher import unplugged

WORDS = ["ablation", "ward", "visit", "patient", "age", "discharge", "dose", "year", "loan", "rate"]


def rows(count: int) -> list[Row]:
    dice = random.Random(1)
    return [
        memory(
            f"concept {n}",
            " ".join(dice.sample(WORDS, 4)),
            question_context="how many " + " ".join(dice.sample(WORDS, 2)) + "?",
            session_id=f"s{n}",
        )
        for n in range(count)
    ]


@pytest.fixture(scope="module", name="home")
def _home(tmp_path_factory: pytest.TempPathFactory) -> Published:
    home = Published(tmp_path_factory.mktemp("calibrate"))
    home.publish(rows(120))
    return home


def stored(home: Published) -> Calibration:
    (found,) = home.store.current()[0].ranking.values()
    return Calibration.from_dict(found)


def test_the_generation_keeps_its_calibration_and_searches_use_it(home: Published) -> None:
    """Measured at publication, written to the manifest, reported with every search."""
    found = stored(home)
    assert found != Calibration()
    assert -1 < found.cosine_low < found.cosine_high
    assert found.text_k > 0
    assert home.search("ward").calibration == found


def test_the_same_memories_calibrate_alike(home: Published, tmp_path: Path) -> None:
    """No chance and no clock is in it."""
    again = Published(tmp_path)
    again.publish(rows(120))
    assert stored(again) == stored(home)


def test_most_unrelated_memories_get_a_little_and_equal_texts_all(home: Published) -> None:
    """The floor lies below nine in ten random pairs, so their order is kept."""
    served = home.searcher.served()
    pinned = served.generation.serving
    assert pinned is not None
    found = home.search("ward patient loan", k=120)
    terms = [hit.terms["cosine"] for hit in found.hits]
    assert sum(term > 0 for term in terms) > 0.6 * len(terms)


def test_a_typical_best_match_has_about_half_of_the_text_term(home: Published) -> None:
    """The constant is the score of what a stranger's question usually finds."""
    best = [home.search(row["question_context"]).hits[0].terms["text"] for row in rows(10)]
    assert 0.3 < sorted(best)[len(best) // 2] < 0.8


def test_a_handful_of_memories_keeps_the_defaults(tmp_path: Path) -> None:
    """So few say nothing about what is unrelated."""
    home = Published(tmp_path)
    home.publish(rows(ENOUGH - 1))
    assert stored(home) == Calibration()


def test_a_model_that_is_away_leaves_the_cosine_as_it_is(home: Published) -> None:
    """Publication goes on without it: words are calibrated all the same."""
    served = home.searcher.served()
    pinned = served.generation.serving
    assert pinned is not None
    found = calibrate(
        served.index(pinned), served.active, unplugged("query"), Published(home.root / "x").cache
    )
    assert found.cosine_low == Calibration().cosine_low
    assert found.text_k == stored(home).text_k


def test_settings_override_the_text_constant(home: Published) -> None:
    """``text_k`` in the settings holds for every generation."""
    searcher = Searcher(home.store, lambda: home.embedder, replace(home.options, text_k=3.0))
    found = searcher.search(SearchRequest("ward", Principal.local(TENANT), NOW))
    assert found.calibration.text_k == 3.0
    assert found.calibration.cosine_low == stored(home).cosine_low
