"""Personal data: found by checksum, not by looks; covered without a trace; never invented."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stdnum import luhn

from memory_assets.domain.personal import (
    CLIENT,
    find_personal,
    mask,
    masked,
    personal_kinds,
)

HITS = [
    ("RSSMRA80A01H501U", "tax code"),
    ("rssmra80a01h501u", "tax code"),
    ("RSS MRA 80A01 H501U", "tax code"),
    ("IT60X0542811101000000123456", "IBAN"),
    ("IT60 X054 2811 1010 0000 0123 456", "IBAN"),
    ("it60x0542811101000000123456", "IBAN"),
    ("DE89 3704 0044 0532 0130 00", "IBAN"),
    ("4111 1111 1111 1111", "card"),
    ("5555-5555-5555-4444", "card"),
    ("378282246310005", "card"),
    ("4111.1111.1111.1111", "card"),
    ("4111  1111  1111  1111", "card"),
    ("mario.rossi@example.com", "e-mail"),
    ("m+bank@sub.example.co.uk", "e-mail"),
    ("+39 347 123 4567", "phone"),
    ("0039 02 12345678", "phone"),
    ("347 1234567", "phone"),
    ("02/12345678", "phone"),
    ("+41 (0)79 123 45 67", "phone"),
]
MISSES = [
    "RSSMRA80A01H501X",
    "IT60X0542811101000000123457",
    "4111 1111 1111 1112",
    "cod_paz_1234567890123456",
    "1234567890123456",
    "0.1234567890123",
    "ICD 37.34",
    "between 2024-01-31 and 2024-02-28",
    "an @mention and 3 @ 5",
    "SELECT COUNT(DISTINCT cod_paz) FROM ricoveri WHERE anno = 2024",
    "0000000000000000",
    "version 3.11.2, 250 000 000 rows",
    "DRG 123-456",
    "0.4111111111111111",
    "4111111111111111.25",
    "-4111111111111111",
    "years 2010-2011-2012-2013",
]


@pytest.mark.parametrize(("value", "kind"), HITS)
def test_personal_data_is_found_where_it_stands(value: str, kind: str) -> None:
    """In a sentence, with its exact place, and covered whole."""
    text = f"The client ({value}), is active."
    (hit,) = find_personal(text)
    assert hit.kind == kind
    assert text[hit.start : hit.end] == value
    assert mask(text) == f"The client ([{kind}]), is active."


@pytest.mark.parametrize("text", MISSES)
def test_what_only_looks_like_it_is_left_alone(text: str) -> None:
    """A wrong checksum, an identifier, a date, a figure: definitions are full of these."""
    assert find_personal(text) == ()
    assert mask(text) == text


@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ("referto_RSSMRA80A01H501U.pdf", "referto_[tax code].pdf"),
        ("RSSMRA80A01H501U_1", "[tax code]_1"),
        ("pan_4111111111111111", "pan_[card]"),
        ("n.4111111111111111", "n.[card]"),
        ("4111111111111111,5555555555554444;", "[card],[card];"),
        ("carta-4111111111111111", "carta-[card]"),
        ("tel (06) 12345678", "tel ([phone]"),
        ("note_Rossi_Mario_2.txt", "note_[client name]_2.txt"),
    ],
)
def test_it_is_found_in_names_of_files_and_in_lists(text: str, covered: str) -> None:
    """An underscore, a comma or a bracket beside it does not make it part of something else."""
    assert mask(text, ["Mario Rossi"]) == covered


def test_a_phone_without_marks_needs_a_word_for_it() -> None:
    """Ten digits alone are any number."""
    assert find_personal("code 3471234567") == ()
    assert [h.kind for h in find_personal("cell. 3471234567")] == ["phone"]
    assert [h.kind for h in find_personal("Telefono: 0612345678")] == ["phone"]


@pytest.mark.parametrize(
    "text",
    [
        "MARIO ROSSI",
        "mario  rossi",
        "Rossi, Mario",
        "Màrio Ròssi",
        "Mario\u00a0Rossi",
        "Ma\u200brio Rossi",
        "\uff2dario Rossi",
        "Mario\nRossi",
        "mario_rossi",
        "Mario-Rossi",
        "mario.rossi",
    ],
)
def test_names_of_clients_are_found_in_any_dress(text: str) -> None:
    """Case, accents, spacing, order and invisible characters do not hide a name."""
    found = find_personal(f"of {text}.", ["Mario Rossi"])
    assert [h.kind for h in found] == [CLIENT]
    assert mask(f"of {text}.", ["Mario Rossi"]) == f"of [{CLIENT}]."


def test_an_apostrophe_has_many_forms() -> None:
    """The name in the settings and the one in the text need not use the same."""
    for text in ("Anna D\u2019Angelo", "d\u2018angelo anna", "Anna D\u02bcAngelo"):
        assert [h.kind for h in find_personal(text, ["D'Angelo Anna"])] == [CLIENT]
        assert [h.kind for h in find_personal("Anna D'Angelo", [text])] == [CLIENT]


def test_part_of_a_word_is_no_name() -> None:
    """Nor is one of its words alone."""
    assert find_personal("Mariorossi, Rossini, Mario", ["Mario Rossi", "Rossi"]) == ()


def test_hidden_digits_are_found() -> None:
    """Full-width digits and zero-width marks read the same to a person."""
    hidden = "".join(chr(0xFF10 + int(c)) for c in "4111111111111111")
    assert [h.kind for h in find_personal(f"card {hidden}")] == ["card"]
    assert mask("4111\u200b1111\u200b1111\u200b1111") == "[card]"


def test_rows_are_checked_in_every_published_column() -> None:
    """Subject, detail, rationale, question, concepts and metadata; nothing of it is quoted."""
    row = {"subject": "a@example.com", "concepts": ["x", "+39 347 123 4567"], "metadata": "{}"}
    assert personal_kinds(row) == ("e-mail", "phone")
    assert masked(row) == {"subject": "[e-mail]", "concepts": ["x", "[phone]"], "metadata": "{}"}


@given(st.text(max_size=200), st.lists(st.text(max_size=12), max_size=3))
def test_any_text_can_be_searched(text: str, names: list[str]) -> None:
    """Spans lie inside the text, in order and apart; without a find the text stays as it is."""
    hits = find_personal(text, names)
    assert all(0 <= h.start < h.end <= len(text) for h in hits)
    assert all(a.end <= b.start for a, b in pairwise(hits))
    assert hits or mask(text, names) == text


@given(st.from_regex(r"4[0-9]{14}", fullmatch=True).filter(lambda d: len(set(d)) > 2))
def test_every_card_with_a_sound_check_digit_is_found(digits: str) -> None:
    """The check digit decides: each of the nine other ones is a plain number."""
    good = luhn.calc_check_digit(digits)
    for last in "0123456789":
        found = find_personal(f"n {digits}{last} end")
        assert bool([h for h in found if h.kind == "card"]) == (last == good)
