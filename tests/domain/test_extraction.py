"""Facts of free text: the extractor without a model, and how a model's answer is read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.domain.extraction import (
    ANSWER_SCHEMA,
    MAX_FACTS,
    BadAnswer,
    answer_key,
    extractor_version,
    read_answer,
    verbatim,
)

TEXT = "Retention is 90 days. Ablation = procedure with ablazione = TRUE."


def answer(*facts: dict[str, object], **more: object) -> str:
    """A model's answer with these facts."""
    return json.dumps({"facts": list(facts), **more})


def fact(**changed: object) -> dict[str, object]:
    """A sound fact about TEXT, changed."""
    return {"subject": "retention", "detail": "90 days", "quote": "Retention is 90 days", **changed}


@given(st.text(max_size=300), st.text(max_size=20))
def test_verbatim_keeps_the_text_and_its_place(text: str, subject: str) -> None:
    """The detail is the text between the span's ends, and no fact lacks a subject."""
    found = verbatim(text, subject=subject)
    assert len(found) == (1 if text.strip() else 0)
    for one in found:
        assert text[one.start : one.end] == one.detail == text.strip()
        assert one.subject.strip()


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("Ablation: a procedure.", "Ablation"),
        ("Active client = one with a mandate", "Active client"),
        ("The client prefers calls. In the morning.", "The client prefers calls"),
        ("short remark!", "short remark"),
        ("word " * 60, ("word " * 16).strip()),
    ],
)
def test_a_subject_is_made_of_the_beginning(text: str, subject: str) -> None:
    """What stands before a colon, an equals sign or the first stop names the fact."""
    assert verbatim(text)[0].subject == subject


def test_the_row_names_the_subject_first() -> None:
    """A subject or concept of the row counts before the text's beginning."""
    assert verbatim(TEXT, subject="Own")[0].subject == "Own"
    assert verbatim(TEXT, concepts=["", "Idea"])[0].subject == "Idea"


def test_facts_of_an_answer_carry_their_place() -> None:
    """The quote is found in the text, and equal facts count once."""
    found = read_answer(answer(fact(), fact(), fact(detail="three months")), TEXT)
    assert not isinstance(found, BadAnswer)
    assert [(f.subject, f.detail) for f in found] == [
        ("retention", "90 days"),
        ("retention", "three months"),
    ]
    assert TEXT[found[0].start : found[0].end] == "Retention is 90 days"


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ("I cannot help with that.", "answer-not-json"),
        ('{"facts": [', "answer-not-json"),
        ("[]", "answer-form"),
        ('{"facts": "none"}', "answer-form"),
        (answer({"subject": "a", "detail": "b"}), "answer-form"),
        (answer(fact(tenant_id="az")), "answer-form"),
        (answer(fact(type="table_promoted")), "answer-form"),
        (answer(fact(), review="automatic"), "answer-form"),
        (answer(fact(subject="")), "answer-form"),
        (answer(fact(subject=" ")), "answer-blank"),
        (answer(fact(detail="x" * 5000)), "answer-form"),
        (answer(fact(quote="never said")), "answer-quote"),
        (answer(*[fact()] * (MAX_FACTS + 1)), "answer-form"),
    ],
)
def test_any_other_answer_is_refused_whole(raw: str, code: str) -> None:
    """One field too many, one quote that is not there: nothing of the answer counts."""
    found = read_answer(raw, TEXT)
    assert isinstance(found, BadAnswer)
    assert found.code == code
    assert "never said" not in found.reason
    assert "az" not in found.reason.split()


def test_no_facts_is_a_good_answer() -> None:
    """Small talk holds none."""
    assert read_answer('{"facts": []}', "ciao") == ()


def test_answers_are_not_shared() -> None:
    """Another tenant, model or text is another question."""
    keys = {
        answer_key("ws", "m", "t"),
        answer_key("az", "m", "t"),
        answer_key("ws", "n", "t"),
        answer_key("ws", "m", "u"),
    }
    assert len(keys) == 4


def test_the_asked_for_form_allows_nothing_more() -> None:
    """Strict structured output wants every object closed and every property required."""
    item = ANSWER_SCHEMA["properties"]["facts"]["items"]
    for one in (ANSWER_SCHEMA, item):
        assert one["additionalProperties"] is False
        assert sorted(one["required"]) == sorted(one["properties"])


def test_versions_name_rule_or_prompt() -> None:
    """A fact can be traced to the very rule that made it."""
    assert extractor_version("verbatim") == "verbatim-1"
    assert extractor_version("openai:gpt-x") == "openai:gpt-x/facts-1"
