"""Equal content: what the duplicate key forgives, and what it must keep apart."""

from __future__ import annotations

import itertools
import string
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.domain.keys import (
    content_sha256,
    duplicate_key,
    memory_id,
    normalise,
    row_key,
)

CONTENT: dict[str, Any] = {
    "type": "concept_clarified",
    "subject": "Ablation",
    "detail": "a procedure",
    "rationale": "asked",
    "question_context": "How many?",
    "tables": ("t",),
    "concepts": ("c", "d"),
}


@pytest.mark.parametrize(
    "family",
    [
        ["Età media al ricovero", "Età media al ricovero.", "Età  media al ricovero",
         "età media al ricovero", unicodedata.normalize("NFD", "Età media al ricovero")],
        ["sesso = 'Male'", "Sesso = 'Male'", "sesso  =\t'Male' .", "sesso = 'Male'\n"],
        ["by year", "by year;", "by year…", "by year...", "By year!?"],
        ["a b", "a\u00a0b", "a\nb", " a b ", "a\u2003b", "a\r\n  b"],
        ["ﬁle di log", "file di log"],
        ["“Male” o “Female”", "“Male”  o “Female”."],
        ["flag `Is_OK` set", "Flag  `Is_OK` set."],
        ["the value 'A long\nquoted text'", "The value 'A long quoted text'"],
        ["L'età dell'assistito", "l'età dell'assistito."],
        ["", " ", ".", "…"],
    ],
)  # fmt: skip
def test_spellings_of_one_sentence_are_one_memory(family: list[str]) -> None:
    """Final punctuation, white space, a capital letter and the Unicode form do not count."""
    assert len({duplicate_key("s", text) for text in family}) == 1
    assert len({duplicate_key(text, "d") for text in family}) == 1


@pytest.mark.parametrize(
    "family",
    [
        ["C", "C++", "C#"],
        ["età", "ET", "eta"],
        ["Ω-3", "3", "-3"],
        ["10²", "102", "10"],
        ["H₂O", "H2O", "HO"],
        ["gender = 'Male'", "gender = 'male'", "gender = 'MALE'", "gender = Male'"],
        ['gender = "M"', 'gender = "m"'],
        ["stato = `Attivo`", "stato = `attivo`"],
        ["stato = «Attivo»", "stato = «attivo»"],
        ["text = 'end.'", "text = 'end'"],
        ["Cod_paz", "cod_paz", "COD_PAZ", "cod paz"],
        ["DRG", "drg"],
        ["ICD 37.34", "ICD 37.35", "ICD 3734"],
        ["A1c", "a1c"],
        ["x > 5", "x < 5", "x >= 5", "x = 5"],
        ["flag = TRUE", "flag = FALSE"],
        ["excluding test accounts", "including test accounts"],
        ["5 mg", "5 g", "5 µg"],
        ["−5", "5"],
        ["½", "12", "1"],
        ["camelCase", "camelcase"],
        ["a b", "ab"],
        ["è", "e"],
    ],
)  # fmt: skip
def test_what_differs_by_one_sign_stays_apart(family: list[str]) -> None:
    """Codes, literals, identifiers, figures and signs are never folded into one."""
    keys = [duplicate_key("s", text) for text in family]
    same = [p for p, (a, b) in zip(_pairs(family), _pairs(keys), strict=True) if a == b]
    assert same == []


def _pairs(items: list[str]) -> list[tuple[str, str]]:
    return list(itertools.combinations(items, 2))


def test_subject_and_detail_do_not_flow_into_each_other() -> None:
    """Moving a word from one to the other is another content."""
    assert duplicate_key("a b", "c") != duplicate_key("a", "b c")
    assert duplicate_key("a\x1fb", "c") != duplicate_key("a", "b\x1fc")


WORDS = st.lists(
    st.one_of(
        st.text(string.ascii_lowercase + "àèéìòù", min_size=1, max_size=6),
        st.sampled_from(["'Male'", "`Is_OK`", "cod_paz", "37.34", "TRUE", "10²", "=", "(x)", "è,"]),
    ),
    min_size=1,
    max_size=6,
)


@given(WORDS, st.sampled_from([" ", "  ", "\n", "\u00a0 "]), st.sampled_from(["", ".", " ;", "…"]))
def test_the_four_spellings_of_any_sentence(words: list[str], gap: str, end: str) -> None:
    """Space, capital letter, final punctuation and decomposition together change no key."""
    first = words[0][:1].upper() + words[0][1:] if words[0].isalpha() else words[0]
    other = unicodedata.normalize("NFD", gap.join([first, *words[1:]]) + end)
    if words[0].isupper() or len(unicodedata.normalize("NFC", first)) != len(words[0]):
        return
    assert normalise(other) == normalise(" ".join(words))


@given(st.text(max_size=40))
def test_normalising_never_fails_and_does_not_depend_on_the_unicode_form(text: str) -> None:
    """Any text has a key; composed and decomposed forms share it."""
    assert duplicate_key(text, text) == duplicate_key(
        unicodedata.normalize("NFD", text), unicodedata.normalize("NFC", text)
    )


@pytest.mark.parametrize("field", CONTENT)
def test_every_content_column_counts_for_the_content_hash(field: str) -> None:
    """A published memory whose hash still holds has changed in none of them."""
    changed = CONTENT | {field: CONTENT[field] + type(CONTENT[field])("x")}
    assert content_sha256(**changed) != content_sha256(**CONTENT)
    assert content_sha256(**CONTENT | {"concepts": ["c", "d"]}) == content_sha256(**CONTENT)


def test_the_content_hash_is_fixed_for_ever() -> None:
    """It is stored with every memory: another value for the same content would be drift."""
    assert content_sha256(**CONTENT)[:16] == "3aeb38fa3bcf28cb"


def test_ids_and_keys() -> None:
    """Four digits at least, and the tenant in every key."""
    assert [memory_id(n) for n in (1, 42, 9999, 10000)] == [
        "mem-0001",
        "mem-0042",
        "mem-9999",
        "mem-10000",
    ]
    assert row_key("clinic", "mem-0001") == "clinic/mem-0001"
