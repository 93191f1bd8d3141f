"""What a preview may offer and a list may show: each with a list of types of its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.domain.boundaries import listing_refusal, offer_refusal
from memory_assets.domain.candidates import SchemaNames
from memory_assets.domain.events import DECISION_TYPES, EVENT_TYPES, REUSABLE_TYPES

BOUNDARIES = (offer_refusal, listing_refusal)
NAMES = SchemaNames()


@pytest.mark.parametrize("type", sorted(EVENT_TYPES.keys() - REUSABLE_TYPES))
def test_only_clarifications_pass(type: str) -> None:
    """Every other type of row stops at both boundaries, whatever it is about."""
    assert [rule(type, "Elective", NAMES) is None for rule in BOUNDARIES] == [False, False]
    assert offer_refusal(type, "Elective", NAMES) == (
        "not-reusable",
        f"{type} is local to its question, never memory",
    )


@pytest.mark.parametrize("subject", ["fact_cardioversione", "dim_time", "`dim_time`", "FACT_x"])
def test_bare_schema_names_do_not_pass(subject: str) -> None:
    """A table's name in place of a concept stops, in whatever letters and quotes."""
    for rule in BOUNDARIES:
        found = rule("concept_clarified", subject, NAMES)
        assert found is not None
        assert found[0] == "schema-name"


@given(st.sampled_from(sorted(DECISION_TYPES)), st.text())
def test_the_two_rules_agree(type: str, subject: str) -> None:
    """What may be offered may be listed later, and the other way round."""
    assert offer_refusal(type, subject, NAMES) == listing_refusal(type, subject, NAMES)
