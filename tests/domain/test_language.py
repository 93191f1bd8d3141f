"""Telling Italian from English by small words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.domain.language import detect, row_language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Procedura con ablazione_transcatetere = TRUE, contata per anno sulla data", "it"),
        ("Età del paziente alla data della dimissione", "it"),
        ("Numero di pazienti che hanno almeno un ricovero nell'anno", "it"),
        ("Patients who were discharged from the ward within the year", "en"),
        ("the number of accounts that are not test accounts", "en"),
        ("COUNT(DISTINCT cod_paz)", None),
        ("DRG-123", None),
        ("", None),
        ("il valore of", None),
    ],
)
def test_small_words_give_the_language_away(text: str, language: str | None) -> None:
    """Sentences are told apart; bare identifiers and mixtures are not guessed at."""
    assert detect(text) == language


def test_decomposed_accents_do_not_matter() -> None:
    """``perché`` counts as Italian in both Unicode forms."""
    assert detect("perche\u0301 si") == detect("perch\u00e9 si") == "it"


def test_a_row_falls_back_on_its_tenant_and_then_on_both_languages() -> None:
    """An undecided text takes the tenant's language; without a known one, all stems are kept."""
    assert row_language("the age of the patient", "it") == "en"
    assert row_language("DRG-123", "it") == "it"
    assert row_language("DRG-123", None) is None
    assert row_language("DRG-123", "fr") is None


@given(st.text())
def test_any_text_can_be_judged(text: str) -> None:
    """Detection answers for whatever a ledger may hold, and always the same."""
    assert detect(text) in ("it", "en", None)
    assert detect(text) == detect(text)
