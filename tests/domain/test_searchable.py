"""The search filter: which rows may leave a search."""

from __future__ import annotations

import pytest

from memory_assets.domain.events import EVENT_TYPES
from memory_assets.domain.searchable import SEARCHABLE_TYPES, search_refusal


@pytest.mark.parametrize("type_", sorted(EVENT_TYPES.keys() - SEARCHABLE_TYPES))
def test_no_other_type_of_row_leaves_a_search(type_: str) -> None:
    """Table choices, markers and free text are refused by their type."""
    why = search_refusal(type_, "Ablation")
    assert why is not None
    assert type_ in why


@pytest.mark.parametrize("subject", ["fact_cardioversione", "dim_time", " `DIM_TIME` "])
def test_a_bare_schema_name_is_no_concept(subject: str) -> None:
    """A table that poses as a concept is refused by its shape."""
    assert search_refusal("concept_clarified", subject) is not None


def test_a_concept_leaves_even_if_it_mentions_a_table() -> None:
    """Mappings belong to explanations: only the subject is judged."""
    assert search_refusal("concept_clarified", "Ablation in fact_interventi") is None


def test_the_patterns_are_the_tenants() -> None:
    """A tenant that names its tables otherwise is served by its own patterns."""
    assert search_refusal("concept_clarified", "tbl_visits", ("tbl_*",)) is not None
    assert search_refusal("concept_clarified", "dim_time", ("tbl_*",)) is None
