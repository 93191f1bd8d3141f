"""Evaluation ranks in each leg and in the hybrid, and counts nothing as a use."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from memory_assets.domain.visibility import Principal
from memory_assets.errors import AccessDenied
from memory_assets.steps.search.evaluate import LEGS, Evaluation, evaluate
from memory_assets.steps.search.evaluation_cases import Case
from tests.nights import tree
from tests.searching import NOW, TENANT, Published, memory

ADMIN = Principal.local(TENANT)


def case(query: str, *needed: str, session: str | None = None, tenant: str = TENANT) -> Case:
    return Case(tenant, query, frozenset(needed), "en", "labelled", session)


def run(home: Published, *cases: Case, who: Principal = ADMIN) -> Evaluation:
    return evaluate(home.searcher, cases, who, embedder=home.embedder, cache=home.cache, now=NOW)


@pytest.fixture(name="home")
def _home(tmp_path: Path) -> Published:
    home = Published(tmp_path)
    home.publish(
        [
            memory("Ablation", "by catheter", session_id="s1"),
            memory("Ward", "department of a clinic", session_id="s2"),
            memory("Rate", "share of loans", session_id="s3"),
        ]
    )
    return home


def test_a_question_whose_memory_comes_first_is_perfect_in_each_leg(home: Published) -> None:
    """One row per leg, for everything and for the tenant and the language."""
    found = run(home, case("ablation by catheter", "mem-0001"))
    for leg in LEGS:
        for tenant, language in (("all", "all"), (TENANT, "all"), ("all", "en"), (TENANT, "en")):
            row = found.of(leg, tenant, language)
            assert row is not None
            assert (row["recall_at_1"], row["mrr"], row["questions"]) == (1, 1, 1)
    assert found.to_metadata()["hybrid_recall_at_10"] == 1
    assert found.by_source == {"labelled": 1}


def test_a_memory_that_shares_no_word_is_not_found_by_the_text_leg(home: Published) -> None:
    """The legs are measured apart: what only vectors reach counts for them alone."""
    found = run(home, case("zzz", "mem-0003"))
    text, vector = found.of("text"), found.of("vector")
    assert text is not None
    assert vector is not None
    assert text["recall_at_10"] == 0
    assert vector["recall_at_10"] == 1


def test_a_sessions_own_memories_are_left_out_of_its_questions(home: Published) -> None:
    """They did not exist when it asked: the next best takes their place."""
    mine = run(home, case("ablation ward", "mem-0002", session="s1"))
    row = mine.of("text")
    assert row is not None
    assert row["recall_at_1"] == 1


def test_what_the_session_added_to_use_is_left_out_too(tmp_path: Path) -> None:
    """The corroboration that came of a question must not help to answer it."""
    home = Published(tmp_path)
    rows = [memory("Alpha", "beta gamma", days_ago=1), memory("Alpha", "beta gamma ", days_ago=1)]
    used = (TENANT, "s9", 1, 0, "mem-0002", NOW, "anna", 1)
    home.publish(rows, uses=[used])
    question = "alpha beta gamma"
    helped = run(home, case(question, "mem-0002")).of("hybrid")
    honest = run(home, case(question, "mem-0002", session="s9")).of("hybrid")
    assert helped is not None
    assert honest is not None
    assert (helped["recall_at_1"], honest["recall_at_1"]) == (1, 0)


def test_a_question_about_a_memory_that_is_gone_is_left_out(home: Published) -> None:
    """It is counted as unanswerable and lowers no figure."""
    found = run(home, case("ward", "mem-0002"), case("x", "mem-0099"), case("y", "mem-0001"))
    assert (found.cases, found.unanswerable) == (2, 1)


def test_evaluating_changes_nothing(home: Published) -> None:
    """No access, no file below the home: measuring is no use."""
    before = tree(home.root / "home")
    run(home, case("ward", "mem-0002"))
    assert tree(home.root / "home") == before


def test_only_those_who_see_everything_may_evaluate(home: Published) -> None:
    """An advisor's evaluation would leak through its figures; another tenant's is refused."""
    with pytest.raises(AccessDenied):
        run(home, case("ward", "mem-0002"), who=Principal(TENANT, "ADVISOR", "anna"))
    with pytest.raises(AccessDenied):
        run(home, case("ward", "mem-0002", tenant="bank"))


def test_nothing_asked_gives_an_empty_evaluation(home: Published) -> None:
    """A registry without implied labels is no error."""
    found = run(home)
    assert (found.rows, found.cases) == ((), 0)
    assert found.evaluated_at - NOW == timedelta(0)
