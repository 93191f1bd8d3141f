"""Folded text: what is found by what."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.domain.text import MAX_TERM, Language, fold, fold_query, fold_question, plain

WORDS = st.text(
    alphabet=st.sampled_from("abcdezàèéìòùçñÀÈÉßıİ019_-.'’/@#+ \t\u0301\u200dΩﬁ²"), max_size=40
)
ANYTHING = st.one_of(WORDS, st.text(max_size=40))
LANGUAGE = st.sampled_from([None, "it", "en"])


def found(query: str, text: str, language: Language | None = None) -> set[str]:
    """The query's terms that the text holds."""
    return set(fold_query(query, language).split()) & set(fold(text, language).split())


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("intervento ablazioni", "interventi di ablazione"),
        ("eta", "l'età del paziente"),
        ("l’età", "eta"),
        ("età", "L'ETA'"),
        ("perche'", "perché"),
        ("perché", "perche`"),
        ("qualita", "qualità"),
        ("QUALITÀ", "qualita'"),
        ("un'ablazione", "ablazioni"),
        ("cod_paz", "COUNT(DISTINCT cod_paz)"),
        ("paz", "cod_paz"),
        ("COD_PAZ", "`cod_paz`"),
        ("DRG-123", "il DRG-123."),
        ("drg123", "DRG-123"),
        ("DRG-123", "DRG123"),
        ("ICD 37.34", "(ICD 37.34)"),
        ("37.34", "codice ICD-37.34;"),
        ("ICD", "ICD-37.34"),
        ("transcatetere", "ablazione_transcatetere=TRUE"),
        ("ablazioni", "ablazione_transcatetere"),
        ("cdscode", "schools.CDSCode"),
        ("drg-123", "i DRG-123,124"),
        ("124", "i DRG-123,124"),
        ("1.2-beta", "versione 1.2-beta"),
        ("meal count", "FreeMealCount"),
        ("patient", "the patients' ages"),
        ("procedures", "a procedure"),
        ("followup", "follow-up"),
        ("C++", "written in C++."),
        ("0,92", "soglia 0,92"),
        ("2024-05-01", "dal 2024-05-01 in poi"),
        ("ﬁltro", "filtro"),
    ],
)
def test_finds_inflections_accents_and_identifiers(query: str, text: str) -> None:
    """A query meets the text that a reader would expect it to meet."""
    assert found(query, text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("37.34", "ICD 37.35"),
        ("37", "ICD 37.34"),
        ("DRG124", "DRG-123"),
        ("C", "C++"),
        ("C", "C#"),
        ("età", "ET"),
        ("3", "Ω-3"),
        ("l", "l'età"),
        ("s", "the patient's age"),
    ],
)
def test_keeps_unlike_things_apart(query: str, text: str) -> None:
    """Numbers are not cut, symbols that make a name stay in it, elisions leave nothing behind."""
    assert not found(query, text)


def test_identifier_is_one_unstemmed_term() -> None:
    """The whole identifier is a term, and no stem of the whole is."""
    terms = fold("ablazioni_cardiache").split()
    assert "ablazioni_cardiache" in terms
    assert not [term for term in terms if "_" in term and term != "ablazioni_cardiache"]


@pytest.mark.parametrize(
    "text", ["fact_interventi.cod_paz", "f.cod_paz=1", "x/cod_paz", "t:cod_paz-id"]
)
def test_identifier_inside_a_path_is_a_term_of_its_own(text: str) -> None:
    """A qualified column is found by its bare name, not only by the pieces of it."""
    assert "cod_paz" in fold(text).split()


def test_exact_word_shares_more_terms_than_its_inflection() -> None:
    """The word itself is a term beside its stem, so an exact match ranks above an inflected one."""
    assert len(found("interventi", "interventi")) > len(found("interventi", "intervento"))


def test_wrong_language_still_finds_the_exact_word() -> None:
    """A row folded as English is found by the same Italian word."""
    query = set(fold_query("ricoveri", "it").split())
    assert query & set(fold("ricoveri", "en").split())


def test_one_language_stems_in_that_language_only() -> None:
    """Naming a language leaves the other one's stems out."""
    assert fold("interventi", "it") == "interventi intervent"
    assert fold("interventi", "en") == "interventi"


def test_query_drops_function_words_unless_nothing_else_is_left() -> None:
    """Articles go, unless there is nothing else; a negation is no function word."""
    assert fold_query("qual è il numero di non fumatori", "en") == "numero non fumatori"
    assert fold_query("di il") == "di il"


def test_query_names_each_term_once() -> None:
    """A repeated word does not count double."""
    assert fold_query("drg DRG drg") == "drg"


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("ICD37.34", "ICD 37.34"),
        ("ICD 37.34", "ICD37.34"),
        ("DRG 123", "DRG123"),
        ("DRG123", "DRG 123"),
        ("drg 123", "DRG-123"),
        ("37,34", "ICD 37.34"),
        ("2.5%", "almeno 2,5 mg"),
    ],
)
def test_a_question_finds_codes_and_numbers_in_their_other_spelling(
    typed: str, written: str
) -> None:
    """With or without a blank, with a comma or a point: the code itself is found by what it is."""
    numbers = {t for t in fold(written).split() if any(c.isdigit() for c in t)}
    assert numbers & set(fold_question(typed).split())


@pytest.mark.parametrize("typed", ["COVID19", "v2.1", "B01AA03", "1.234,56", "di 2024"])
def test_other_spellings_are_for_codes_and_numbers_alone(typed: str) -> None:
    """Nothing is taken apart that is one name, and no article joins a number."""
    assert fold_question(typed) == fold_query(typed)


@given(ANYTHING)
def test_a_question_holds_all_terms_of_its_text_once(text: str) -> None:
    """Other spellings are added, nothing is taken away, and no term counts double."""
    terms = fold_question(text).split()
    assert set(fold_query(text).split()) <= set(terms)
    assert len(terms) == len(set(terms))


def test_hostile_characters_leave_terms_only() -> None:
    """NUL parts words, marks and lone surrogates vanish, and the result is valid UTF-8."""
    text = "a1\x00b2 \ud800x9 \u200fcod_paz\u200e 👩\u200d⚕️ \u202eabc"
    assert fold(text, "en").split() == ["a1", "b2", "x9", "cod_paz", "cod", "paz", "abc"]
    fold(text).encode("utf-8")


def test_long_terms_are_cut_alike_on_both_sides() -> None:
    """A pasted blob becomes one bounded term, and is found by itself."""
    blob = "A1b2" * 1_000_000
    assert max(map(len, fold(blob).split())) <= MAX_TERM
    assert found(blob, f"prima {blob} dopo")


@given(ANYTHING)
def test_plain_is_idempotent(text: str) -> None:
    """Flattening a flattened text changes nothing."""
    assert plain(plain(text)) == plain(text)


@given(ANYTHING, LANGUAGE)
def test_composed_and_decomposed_text_fold_alike(text: str, language: Language | None) -> None:
    """NFC and NFD of one text give the same terms."""
    forms = {fold(unicodedata.normalize(form, text), language) for form in ("NFC", "NFD")}
    assert len(forms) == 1


@given(ANYTHING, LANGUAGE)
def test_every_piece_of_a_text_finds_the_text(text: str, language: Language | None) -> None:
    """The terms of any white-space piece are among the terms of the whole."""
    whole = set(fold(text, language).split())
    for piece in text.split():
        assert set(fold_query(piece, language).split()) <= whole


@given(ANYTHING, LANGUAGE)
def test_query_terms_are_terms_of_the_text(text: str, language: Language | None) -> None:
    """A text used as a query asks for nothing that its own row does not hold."""
    assert set(fold_query(text, language).split()) <= set(fold(text, language).split())


@given(WORDS, LANGUAGE)
def test_case_does_not_count(text: str, language: Language | None) -> None:
    """Lower case finds what any spelling of the whole words holds."""
    for word in plain(text).split():
        if word.isalpha():
            assert fold(word, language) == fold(word.casefold(), language)


@given(ANYTHING)
def test_terms_hold_no_white_space_and_are_lower_case(text: str) -> None:
    """A term is what the engine's white-space split gives back."""
    folded = fold(text)
    assert folded == " ".join(folded.split())
    assert folded == plain(folded)
