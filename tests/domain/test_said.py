"""Words that say nothing, cannot be written, or have no end are refused by name."""

from __future__ import annotations

import pytest

from memory_assets.domain.said import checked
from memory_assets.errors import UsageError


def test_words_lose_the_white_space_at_their_ends() -> None:
    """What is written down is what was said."""
    assert checked("reason", "  l'età \n", longest=9, remedy="say why.") == "l'età"


def test_nothing_said_is_fine_where_it_is_optional() -> None:
    """A reason that nobody asked for may be missing."""
    assert checked("reason", " ", longest=9, remedy="", blank=True) == ""


@pytest.mark.parametrize("text", ["", " \n", "\u200b\u202e", "\0"])
def test_what_nobody_sees_is_blank(text: str) -> None:
    """White space, control and invisible characters alone say nothing."""
    with pytest.raises(UsageError, match=r"The query is blank.*say what to look for"):
        checked("query", text, longest=9, remedy="say what to look for.")


def test_a_text_without_end_is_refused_with_its_length() -> None:
    """One character too many is refused, whatever the text."""
    with pytest.raises(UsageError, match="11 characters; at most 10"):
        checked("query", "x" * 11, longest=10, remedy="")


def test_what_cannot_be_written_is_refused() -> None:
    """A lone surrogate fits in no file."""
    with pytest.raises(UsageError, match="The reason is not UTF-8"):
        checked("reason", "bad \ud800", longest=10, remedy="")
