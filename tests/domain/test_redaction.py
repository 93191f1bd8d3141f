"""Redacted rows keep their place and say nothing."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memory_assets.domain.redaction import redacted_line, redacted_row
from tests.building import note, parse, row

TEXT = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=20)


@given(st.integers(1, 999), TEXT, TEXT, st.dictionaries(TEXT, TEXT, max_size=3))
def test_a_line_keeps_its_length_and_its_number(
    seq: int, subject: str, said: str, more: dict[str, Any]
) -> None:
    """Nothing after it moves, and the parser still takes it as that row."""
    full = row(seq, subject=subject, detail=said, client_id="c", metadata=more)
    raw = json.dumps(full, ensure_ascii=False).encode()
    new = redacted_line(raw)
    assert len(new) == len(raw)
    (event,) = parse(new + b"\n").events
    assert (event.ref, event.type, event.subject, event.detail) == (
        seq,
        "concept_clarified",
        "",
        "",
    )
    assert event.row.client_id is None or not event.row.client_id


def test_a_reference_stays_and_a_sentence_does_not() -> None:
    """The replay still knows which row a marker is about."""
    assert (
        redacted_row(note(4, "memory_promoted", "seq:2", rationale="because"))["detail"] == "seq:2"
    )
    assert "detail" not in redacted_row(row(4))
    assert "rationale" not in redacted_row(note(4, "memory_promoted", "seq:2", rationale="x"))


@given(st.binary(max_size=40).filter(lambda b: b"\n" not in b))
def test_what_cannot_be_read_is_blanked(raw: bytes) -> None:
    """Nothing of a line that is no JSON object is left."""
    try:
        readable = isinstance(json.loads(raw), dict)
    except ValueError:
        readable = False
    if not readable:
        assert redacted_line(raw) == b" " * len(raw)
