"""Reviewers and what they may be shown: the rules by themselves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.domain.candidates import SchemaNames
from memory_assets.domain.events import EVENT_TYPES, REUSABLE_TYPES
from memory_assets.domain.review import (
    SKEW,
    Edit,
    ReviewDecision,
    refusal,
    review_refusal,
    reviewer_refusal,
)

NOW = datetime(2026, 2, 1, tzinfo=UTC)
SEEN = {"type": "concept_clarified", "subject": "Ablation", "content_sha256": "ab"} | {
    "refusal_code": None,
    "refusal_reason": None,
}


def _decision(**changes: Any) -> ReviewDecision:
    fields: dict[str, Any] = {
        "tenant_id": "clinic",
        "session_id": "s1",
        "decision_seq": 1,
        "verdict": "accept",
        "reviewer": "anna",
        "decided_at": NOW,
        "content_sha256": "ab",
    }
    return ReviewDecision(**fields | changes)


@pytest.mark.parametrize(
    "name",
    [
        *("anna", "Anna Rossi", "anna@clinic.example", "Agenta", "李", "abbot", "j-abbot"),
        *("anna.bot", "Bot, Anna", "Bot Jansen", "rule.john", "Systema", "modelli"),
    ],
)
def test_people_may_review(name: str) -> None:
    """Names of people, whatever their alphabet."""
    assert reviewer_refusal(name) is None


@given(
    st.sampled_from(["agent", "AGENT", "assistant", "Bot", "ｌｌｍ", "policy"]),
    st.sampled_from(["", ":x", " : y", "\u200b:x", ": "]),
    st.sampled_from(["", " ", "\u200b", "\u202e"]),
)
def test_no_agent_slips_through(word: str, tail: str, before: str) -> None:
    """Case, width, white space and invisible characters change nothing."""
    assert reviewer_refusal(before + word + tail) is not None


@pytest.mark.parametrize(
    "name",
    [
        *(
            "agent-7",
            "Agent_7",
            "agent7",
            "agent/x",
            "agent smith",
            "llm.reviewer",
            "policy engine",
        ),
        *("bot-2", "bot 2", "claude-bot", "dependabot[bot]", "review_agent", "x-bot2"),
    ],
)
def test_no_agent_slips_through_without_a_colon(name: str) -> None:
    """Whatever sign stands between the kind and the name."""
    assert reviewer_refusal(name) is not None


@pytest.mark.parametrize("type", sorted(EVENT_TYPES.keys() - REUSABLE_TYPES))
def test_no_other_type_is_shown_to_a_reviewer(type: str) -> None:
    """The boundary has a list of its own, and it holds one type."""
    assert review_refusal(type, "Ablation", SchemaNames()) is not None
    assert review_refusal("concept_clarified", "Ablation", SchemaNames()) is None


def test_a_clock_may_be_a_little_ahead() -> None:
    """Two machines never agree to the second; beyond two minutes it is the future."""
    assert refusal(_decision(decided_at=NOW + SKEW), SEEN, now=NOW) is None
    late = refusal(_decision(decided_at=NOW + SKEW + timedelta(seconds=1)), SEEN, now=NOW)
    assert late is not None
    assert late[0] == "from-the-future"


@pytest.mark.parametrize("name", ["ca\0rla", "carla\nbruna", "c" * 201])
def test_a_name_fits_on_a_line(name: str) -> None:
    """It is written into markers, which refuse a NUL as every ledger row does."""
    found = refusal(_decision(reviewer=name), SEEN, now=NOW)
    assert found is not None
    assert found[0] == "not-a-reviewer"


@pytest.mark.parametrize(
    "changes",
    [
        {"reason": "a\0"},
        {"edited": Edit("a\0", "b")},
        {"edited": Edit("a", "b\0")},
        {"edited": Edit("a", "b", "c\0")},
    ],
)
def test_no_verdict_brings_in_what_a_ledger_may_not_hold(changes: dict[str, Any]) -> None:
    """A NUL is refused wherever it stands."""
    found = refusal(_decision(**changes), SEEN, now=NOW)
    assert found == ("bad-line", "a text holds a NUL character")


@pytest.mark.parametrize("verdict", ["decline", "defer", "reopen"])
def test_what_is_not_offered_can_still_be_turned_down(verdict: str) -> None:
    """Only an acceptance is filtered: saying no to something is never refused."""
    ended = SEEN | {"refusal_code": "not-in-force", "refusal_reason": "withdrawn"}
    assert refusal(_decision(verdict=verdict), ended, now=NOW) is None
    accepted = refusal(_decision(), ended, now=NOW)
    assert accepted is not None
    assert accepted[0] == "not-offered"
