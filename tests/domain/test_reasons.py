"""Every reason code has its sentence."""

from __future__ import annotations

import pytest

from memory_assets.domain.reasons import REASONS, in_words


@pytest.mark.parametrize("code", sorted(REASONS))
def test_a_code_is_put_in_words(code: str) -> None:
    """The sentence says more than the code."""
    assert in_words(code) != code
    assert " " in in_words(code)


def test_an_unknown_code_stands_for_itself() -> None:
    """A code of a newer version is shown as it is."""
    assert in_words("brand-new") == "brand-new"
