"""References and event types: the vocabulary that everything else derives from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.domain.events import (
    DECISION_TYPES,
    EVENT_TYPES,
    REUSABLE_TYPES,
    SCHEMA_TYPES,
    format_ref,
    parse_ref,
)
from tests.building import jsonl, parse, row


@given(st.integers(1, 10**15 - 1), st.booleans())
def test_a_reference_comes_back(n: int, companion: bool) -> None:
    """What is written for a row of either file names that row."""
    ref = -n if companion else n
    assert parse_ref(format_ref(ref)) == ref
    assert parse_ref(f"  {format_ref(ref)}\n") == ref


@pytest.mark.parametrize(
    "text",
    ["", "seq", "seq:", "m:", ":3", "seq:0", "m:0", "seq:-1", "seq:1.0", "seq: 1 2", "Seq:1",
     "s:1", "seq:1:2", "seq:²", "seq:१", "seq:+1", "seq:1e3", "seq:" + "1" * 16, "mem-0001", "7"],
)  # fmt: skip
def test_anything_else_is_no_reference(text: str) -> None:
    """A reference that has to be guessed could withdraw the wrong decision."""
    assert parse_ref(text) is None


def test_only_clarifications_are_reusable() -> None:
    """The core rule; table and column decisions are local to their question."""
    assert {"concept_clarified"} == REUSABLE_TYPES
    assert not REUSABLE_TYPES & SCHEMA_TYPES
    assert REUSABLE_TYPES | SCHEMA_TYPES | {"memory_event"} == DECISION_TYPES


def test_event_types_are_consistent() -> None:
    """Markers refer and do not decide; each type is listed under its own name."""
    for name, known in EVENT_TYPES.items():
        assert name == known.name
        assert not (known.marks and known.decides)
        assert known.reference is not None or known.marks is None


def test_absent_and_null_fields_read_alike() -> None:
    """An event answers with a plain value for each field that its row does not hold."""
    bare = {"user_id": None, "client_id": None, "audience": None, "source": None, "phase": None}
    for fields in ({}, bare):
        (event,) = parse(jsonl([row(1, "memory_event", **fields)])).events
        assert (event.subject, event.detail, event.rationale, event.question_context) == ("",) * 4
        assert (event.tables, event.concepts, event.metadata, event.extra) == ((), (), "{}", "")
        assert event.phase is None


def test_metadata_comes_back_with_sorted_keys() -> None:
    """The stored form does not depend on the order in which a writer put the keys."""
    (event,) = parse(jsonl([row(1, metadata={"b": {"z": 1, "a": None}, "a": [1.5, "é"]})])).events
    assert event.metadata == '{"a":[1.5,"é"],"b":{"a":null,"z":1}}'
