"""What a text becomes before it is judged."""

from __future__ import annotations

import unicodedata
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.domain.guards.figures import parse_number
from memory_assets.domain.guards.languages import lexicon
from memory_assets.domain.guards.reading import read, read_pair


def keys(text: str, kind: str) -> list[str]:
    """Values of the tokens of one kind."""
    return [t.value for t in read(text).of(kind)]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The patient is one with a visit.", "en"),
        ("Il paziente è quello con una visita.", "it"),
        ("Cliente attivo: acquisto negli ultimi mesi", "it"),
        ("Average monthly spend per customer.", "en"),
        ("DisplayName = 'Harlan'", None),
    ],
)
def test_small_words_tell_the_language(text: str, language: str | None) -> None:
    """A text without telling words has no language of its own."""
    assert read(text).language == language


def test_a_text_without_language_is_read_like_the_other() -> None:
    """Two texts of one pair are never stemmed by different rules."""
    left, right = read_pair("cliente attivo", "un cliente che è attivo")
    assert left.language == right.language == "it"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("twenty-one days", ["21"]),
        ("ventuno giorni", ["21"]),
        ("duemilaventi clienti in tutto il mondo", ["2020"]),
        ("two hundred and five people are here", ["205"]),
        ("almeno una visita", ["1"]),
        ("una visita del medico", []),
        ("at least one visit", ["1"]),
        ("1.234,50 euro di fatturato", ["1234.50"]),
        ("1,234.50 dollars of revenue", ["1234.50"]),
        ("1.234 clienti della banca", ["1234"]),
        ("a price of 1.234 dollars", ["1.234"]),
        ("temperature of -5 degrees", ["-5"]),
        ("10k customers of the bank", ["10000"]),
        ("store no. 12 and store no.13", ["12", "13"]),
        ("from 18-65 years", ["18", "65"]),
    ],
)
def test_numbers_in_figures_and_words(text: str, values: list[str]) -> None:
    """Figures, number words and both decimal habits give one value."""
    assert keys(text, "num") == values


@pytest.mark.parametrize("text", ["code 007 of the agent", "version 1.2.3", "TR001 is the id"])
def test_codes_are_no_numbers(text: str) -> None:
    """Leading zeros, versions and letters make a code, compared sign by sign."""
    assert len(keys(text, "code")) == 1
    assert keys(text, "num") == []


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("on 18/09/2014 in the log", "2014-09-18"),
        ("since 2014-09-18 00:00:00", "2014-09-18"),
        ("il 18 settembre 2014", "2014-09-18"),
        ("on September 18, 2014", "2014-09-18"),
        ("il 1° luglio di ogni anno", "--07-01"),
        ("on 1 July of each year", "--07-01"),
        ("in luglio 2020", "2020-07"),
        ("signed on 3 May 2021", "2021-05-03"),
        ("il 12/05/2020", "2020-05-12"),
    ],
)
def test_dates_in_any_spelling(text: str, date: str) -> None:
    """Day, month and year find each other, in figures or in words."""
    assert keys(text, "date") == [date]


def test_may_is_a_month_only_beside_a_number() -> None:
    """``may`` allows, ``3 May`` is a day."""
    assert keys("the customer may pay", "modal") == ["may"]
    assert keys("the customer may pay", "date") == []


@pytest.mark.parametrize(
    ("text", "op"),
    [
        ("at least 18 years", ">="),
        ("no less than 18 years", ">="),
        ("non inferiore a 18 anni", ">="),
        ("almeno 18 anni", ">="),
        ("18 years or older", ">="),
        ("età >= 18", ">="),
        ("older than 18", ">"),
        ("oltre 18 anni", ">"),
        ("superiore ai 18 anni", ">"),
        ("fewer than 18", "<"),
        ("sotto i 18 anni", "<"),
        ("al massimo 18", "<="),
        ("not exceeding 18", "<="),
        ("18 o meno", "<="),
    ],
)
def test_comparisons_belong_to_their_number(text: str, op: str) -> None:
    """Signs and words give one comparison, before or after the number."""
    (quantity,) = read(text).quantities
    assert (quantity.value, quantity.op) == (Decimal(18), op)


def test_over_is_a_comparison_only_before_a_number() -> None:
    """``over 100`` compares, ``over the last twelve months`` does not."""
    (quantity,) = read("visits over the last twelve months").quantities
    assert (quantity.value, quantity.unit, quantity.op) == (Decimal(12), "month", "")


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("`flag_x` is set", "id", "flag_x"),
        ("orders.created_at is set", "id", "orders.created_at"),
        ("the DisplayName of the user", "id", "DisplayName"),
        ("status 'X4' of the row", "lit", "X4"),
        ("the language C++ is old", "code", "C++"),
        ("the vitamin C is sold", "name", "C"),
        ("la fascia A dei farmaci", "name", "A"),
        ("the KPI is shown", "name", "KPI"),
        ("gli omega Ω-3 sono grassi", "code", "Ω-3"),
    ],
)
def test_names_and_codes(text: str, kind: str, value: str) -> None:
    """Technical names, literals, acronyms and class letters are told from words."""
    assert value in keys(text, kind)


def test_an_elided_article_is_no_content() -> None:
    """``l'età`` and ``età`` hold the same word."""
    assert [t.value for t in read("l'età è nota").content] == [
        t.value for t in read("età nota, che è").content
    ]


def test_a_missing_blank_after_a_full_stop() -> None:
    """Two sentences written without a blank are no identifier."""
    assert keys("It lasts two hours.Include the rest.", "id") == []


@given(st.text())
def test_reading_never_raises(text: str) -> None:
    """Any text can be read, and reads the same composed and decomposed."""
    composed, decomposed = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    assert [t.key for t in read(composed).tokens] == [t.key for t in read(decomposed).tokens]


@given(st.integers(2, 999_999), st.sampled_from(["it", "en"]))
def test_written_numbers_come_back(number: int, language: str) -> None:
    """Grouped by the habit of its language, a number keeps its value."""
    comma = language == "it"
    grouped = f"{number:,}".replace(",", "." if comma else ",")
    assert parse_number(grouped, decimal_comma=comma) == str(number)


@pytest.mark.parametrize("code", ["en", "it"])
def test_the_tables_of_a_language_are_sound(code: str) -> None:
    """No phrase has two meanings, and no filler is also a phrase of one word."""
    known = lexicon(code)
    meanings: dict[tuple[str, ...], set[str]] = {}
    for phrases in known.phrases.values():
        for phrase in phrases:
            meanings.setdefault(phrase.words, set()).add(phrase.before_number + phrase.otherwise)
    assert {w: m for w, m in meanings.items() if len(m) > 1} == {}
    single = {w[0] for w in meanings if len(w) == 1}
    assert sorted(single & known.fillers) == []
