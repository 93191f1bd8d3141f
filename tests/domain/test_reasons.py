"""Every reason code has its sentence."""

from __future__ import annotations

import pytest

from memory_assets.domain.candidates import preview, session_schema_names
from memory_assets.domain.reasons import REASONS, in_words
from tests.building import note, replay, row


@pytest.mark.parametrize("code", sorted(REASONS))
def test_a_code_is_put_in_words(code: str) -> None:
    """The sentence says more than the code."""
    assert in_words(code) != code
    assert " " in in_words(code)


def test_an_unknown_code_stands_for_itself() -> None:
    """A code of a newer version is shown as it is."""
    assert in_words("brand-new") == "brand-new"


def test_every_refusal_of_a_preview_has_a_sentence() -> None:
    """A session that is refused for every reason there is: each code is known."""
    session = replay(
        [
            row(1, subject="Elective", detail="planned"),
            row(2, subject="elective", detail="Planned."),
            row(3, subject="dim_time"),
            row(4, detail=" "),
            row(5),
            row(6),
            row(7),
            row(8, "table_promoted", subject="visits"),
            note(9, "decision_withdrawn", "seq:5"),
            note(10, "memory_promoted", "seq:6"),
            note(11, "memory_promotion_declined", "seq:7"),
        ]
    )
    found = {r.code for r in preview(session, session_schema_names(session)).refused}
    assert found == REASONS.keys() - {"open", "blocked"}  # those two are reasons of a whole session
