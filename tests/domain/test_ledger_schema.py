"""The published JSON Schema agrees with the parser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import memory_assets
from memory_assets.domain.events import AUDIENCES, EVENT_TYPES, PHASES, SOURCES, RawRow
from memory_assets.domain.ledger_schema import FIELD_MEANINGS, ledger_row_schema
from memory_assets.domain.parsing import Origin, parse_ledger

SAMPLES = Path(memory_assets.__file__).parent / "samples" / "ledgers"
VALIDATOR = Draft202012Validator(ledger_row_schema())
COMPANION = Draft202012Validator(ledger_row_schema("companion"))


def _accepted(row: dict[str, Any], origin: Origin = "ledger") -> bool:
    """Whether the parser takes the row; a row that it may refer to stands before it."""
    before = {"seq": 1, "ts": "2026-01-01T00:00:00Z", "type": "any", "after_seq": 0}
    lines = [json.dumps(before), json.dumps(row)]
    parsed = parse_ledger("\n".join(lines).encode(), tenant_id="t", session_id="s", origin=origin)
    return len(parsed.events) == 2


def _row(**changes: Any) -> dict[str, Any]:
    row = {"seq": 2, "ts": "2026-01-31T10:00:00Z", "phase": "F1", "type": "concept_clarified"}
    return {k: v for k, v in {**row, **changes}.items() if v != "absent"}


def _sample_rows() -> list[Any]:
    rows = []
    for path in sorted(SAMPLES.rglob("*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            try:
                row = json.loads(line)
            except ValueError:
                continue
            rows.append(pytest.param(row, id=f"{path.stem}:{number}"))
    return rows


@pytest.mark.parametrize("row", _sample_rows())
def test_every_sample_row_is_valid(row: dict[str, Any]) -> None:
    """The bundled ledgers are examples of the published format."""
    VALIDATOR.validate(row)


def test_the_schema_is_a_schema() -> None:
    """Both variants are sound JSON Schema of the dialect that they name."""
    for origin in ("ledger", "companion"):
        Draft202012Validator.check_schema(ledger_row_schema(origin))


def test_the_schema_is_deterministic() -> None:
    """Two calls give the same bytes, so a published schema only changes with the format."""
    assert json.dumps(ledger_row_schema()) == json.dumps(ledger_row_schema())


def test_every_field_and_type_is_explained() -> None:
    """A new field or event type cannot be added without telling the writers of ledgers."""
    schema = ledger_row_schema()
    assert list(schema["properties"]) == list(RawRow.__struct_fields__)
    assert FIELD_MEANINGS.keys() == set(RawRow.__struct_fields__)
    listed = {t.get("const"): t["description"] for t in schema["properties"]["type"]["anyOf"]}
    assert {n: e.meaning for n, e in EVENT_TYPES.items()}.items() <= listed.items()


@pytest.mark.parametrize(
    "changes",
    [
        {"seq": 0},
        {"seq": "2"},
        {"seq": 2**63},
        {"seq": True},
        {"seq": "absent"},
        {"ts": "absent"},
        {"ts": "yesterday"},
        {"ts": "2026-01-31"},
        {"ts": 1_769_853_600},
        {"ts": -99_999_999_999},
        {"ts": 1.5},
        {"type": "absent"},
        {"type": ""},
        {"phase": "F9"},
        {"phase": None},
        {"phase": "absent"},
        {"subject": None},
        {"subject": ["a"]},
        {"tables": "fact_visits"},
        {"concepts": [1]},
        {"audience": "everybody"},
        {"source": "chat"},
        {"metadata": []},
        {"type": "decision_withdrawn", "detail": "absent"},
        {"type": "decision_withdrawn", "detail": "seq:0"},
        {"type": "decision_withdrawn", "detail": "seq:-1"},
        {"type": "decision_withdrawn", "detail": "seq:1 and seq:2"},
        {"type": "decision_withdrawn", "detail": "mem-0001"},
        {"type": "memory_promoted", "detail": "2"},
        {"type": "memory_promoted", "detail": "seq:" + "0" * 15 + "1"},
        {"type": "phase_reopened", "phase": "absent"},
    ],
    ids=repr,
)
def test_schema_and_parser_refuse_the_same(changes: dict[str, Any]) -> None:
    """What the parser would quarantine for its form, the schema already calls invalid."""
    row = _row(**changes)
    assert not _accepted(row)
    assert not VALIDATOR.is_valid(row)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"seq": 2**63 - 1},
        {"ts": "2026-01-31 10:00:00"},
        {"ts": "2026-01-31T10:00:00.25+02:00"},
        {"ts": 100_000_000_000},
        {"ts": -100_000_000_000},
        {"type": "something_else", "phase": "absent"},
        {"type": "decision_withdrawn", "detail": " seq:001 "},
        {"type": "decision_withdrawn", "detail": "m:7"},
        {"type": "memory_rejected", "detail": "mem-0001"},
        {"type": "memory_rejected", "detail": "seq:1"},
        {"user_id": None, "client_id": None, "audience": None, "source": None},
        {"metadata": {"a": {"b": [1, None]}}, "a_field_of_tomorrow": 1},
    ],
    ids=repr,
)
def test_schema_and_parser_accept_the_same(changes: dict[str, Any]) -> None:
    """Every liberty that the parser grants is in the schema too."""
    row = _row(**changes)
    assert _accepted(row)
    VALIDATOR.validate(row)


def test_companion_rows_need_their_place() -> None:
    """A companion row without after_seq is invalid; in a ledger the field is optional."""
    row = _row(type="memory_promoted", detail="seq:1")
    assert not COMPANION.is_valid(row)
    assert not _accepted(row, "companion")
    assert VALIDATOR.is_valid(row)
    placed = {**row, "after_seq": 2}
    assert COMPANION.is_valid(placed)
    assert _accepted(placed, "companion")


_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**65), 2**65),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.sampled_from([*EVENT_TYPES, *PHASES, *AUDIENCES, *SOURCES, "seq:1", "m:3", "mem-0001"]),
    st.sampled_from(["2026-01-31T10:00:00Z", "2026-02-29T10:00:00", "2026-01-31T10:00"]),
    st.lists(st.text(max_size=3), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@given(changes=st.dictionaries(st.sampled_from(RawRow.__struct_fields__), _VALUES, max_size=4))
def test_the_schema_is_never_stricter_than_the_parser(changes: dict[str, Any]) -> None:
    """Whatever the parser accepts is valid, so a valid writer never has to guess."""
    row = _row(**changes)
    if _accepted(row):
        VALIDATOR.validate(row)
