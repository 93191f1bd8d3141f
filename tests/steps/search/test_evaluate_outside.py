"""Outside data is measured through the real index, language by language."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_assets.embedding.cache import SqliteVectorCache
from memory_assets.embedding.hashed import HashedEmbedder
from memory_assets.steps.search.evaluate import Evaluation
from memory_assets.steps.search.evaluate_outside import evaluate_outside, is_outside
from memory_assets.steps.search.options import SearchOptions
from tests.searching import NOW


def run(tmp_path: Path, *rows: dict[str, Any], limit: int | None = None) -> Evaluation:
    return evaluate_outside(
        rows,
        embedder=HashedEmbedder.named("64"),
        cache=SqliteVectorCache(tmp_path / "v.sqlite", 10**7),
        options=SearchOptions(),
        now=NOW,
        limit=limit,
    )


def test_languages_are_measured_apart(tmp_path: Path) -> None:
    """Each question meets the texts of its own language only; a missing one is detected."""
    found = run(
        tmp_path,
        {"query": "tube of the heart", "text": "a tube of the heart", "language": "en"},
        {"term": "reparto", "definition": "il reparto di un ospedale", "lang": "it"},
        {"question": "the ward", "detail": "the ward of the hospital"},
    )
    assert found.cases == 3
    english, italian = found.of("hybrid", "en", "en"), found.of("hybrid", "it", "it")
    assert english is not None
    assert italian is not None
    assert (english["questions"], italian["questions"]) == (2, 1)
    assert english["recall_at_1"] == italian["recall_at_1"] == 1


def test_the_question_is_no_part_of_the_text(tmp_path: Path) -> None:
    """A term that its definition does not contain is not found by its own word."""
    found = run(
        tmp_path, *({"term": f"w{n}", "text": f"text {n}", "lang": "en"} for n in range(30))
    )
    text = found.of("text")
    assert text is not None
    assert text["recall_at_10"] == 0


def test_equal_texts_are_one_memory_and_equal_questions_need_all_answers(tmp_path: Path) -> None:
    """Repetition in the data neither splits a text nor invents a second question."""
    found = run(
        tmp_path,
        {"query": "a", "text": "one thing", "lang": "en"},
        {"query": "a", "text": "one thing", "lang": "en"},
        {"query": "a", "text": "another thing", "lang": "en"},
        {"query": "b", "text": "one thing", "lang": "en"},
        {"query": "", "text": "nothing asked", "lang": "en"},
    )
    assert found.cases == 2


def test_a_limit_takes_the_same_lines_every_time(tmp_path: Path) -> None:
    """So many per language, whatever the order of the file."""
    rows = [{"query": f"q{n}", "text": f"text {n}", "lang": "en"} for n in range(20)]
    rows += [{"query": f"q{n}", "text": f"testo {n}", "lang": "it"} for n in range(3)]
    forward, backward = run(tmp_path, *rows, limit=5), run(tmp_path, *rows[::-1], limit=5)
    assert forward.rows == backward.rows
    assert forward.cases == 8


@pytest.mark.parametrize(
    ("row", "outside"),
    [
        ({"term": "x", "text": "y"}, True),
        ({"query": "x", "relevant": ["mem-0001"]}, False),
        ({"query": "x", "text": "y", "relevant": ["mem-0001"]}, False),
        ({"query": "x", "text": " "}, False),
    ],
)
def test_lines_with_texts_of_their_own_are_told_apart(row: dict[str, Any], outside: bool) -> None:
    """A line that names memories is about the registry, whatever else it holds."""
    assert is_outside(row) is outside
