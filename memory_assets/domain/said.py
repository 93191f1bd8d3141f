"""What people and agents say in words, before it is looked for or written down."""

from __future__ import annotations

from typing import Final

from memory_assets.domain.text import plain
from memory_assets.errors import UsageError

LONGEST_QUERY: Final = 20_000
"""Characters of a question: each of its words is looked up, so a pasted file would block all."""
LONGEST_NAME: Final = 200
LONGEST_REASON: Final = 10_000
"""Characters of a reason, which a reviewer is going to read."""


def checked(what: str, text: str, *, longest: int, remedy: str, blank: bool = False) -> str:
    """``text`` without white space at its ends, once it can be searched for and written down.

    Raises:
        UsageError: it is too long, no UTF-8 text, or (unless ``blank`` is fine) says nothing.
    """
    if len(text) > longest:
        raise UsageError(
            f"The {what} has {len(text):,} characters; at most {longest:,} are taken.",
            remedy="say it in fewer words.",
        )
    if not blank and not plain(text).strip():
        raise UsageError(f"The {what} is blank.", remedy=remedy)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageError(
            f"The {what} is not UTF-8 text.", remedy="leave lone surrogates out."
        ) from error
    return text.strip()
