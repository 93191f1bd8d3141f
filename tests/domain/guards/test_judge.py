"""All guards together: on cases from the field, on pairs of our own, and as rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.domain.guards import Outcome, judge
from memory_assets.domain.guards.judge import LONGEST
from tests.domain.guards.different_pairs import DIFFERENT
from tests.domain.guards.same_pairs import SAME

_MIRRORED = {"contains": "contained", "contained": "contains"}
FIELD = [
    ("within 15 days", "within 16 days", "15"),
    ("signed on 2021-03-03", "signed on 2021-03-04", "2021-03-03"),
    ("works from version 3.2.1", "works from version 3.2.2", "3.2.1"),
    ("a dose of 5 mg", "a dose of 5 g", "5 mg"),
    ("codice ICD 37.34", "codice ICD 37.35", "37.34"),
    ("price > 100", "price < 100", "> 100"),
    ("flag_x = TRUE", "flag_x = FALSE", "TRUE"),
    ("counted by month", "counted by year", "by month"),
    ("rows of tbl_orders", "rows of tbl_bills", "tbl_orders"),
    ("excluding test accounts", "including test accounts", "excluding"),
]


@pytest.mark.parametrize(("a", "b", "token"), FIELD)
def test_one_token_apart_never_merges_and_is_named(a: str, b: str, token: str) -> None:
    """A number, date, version, unit, code, sign, boolean, grain or name that differs decides."""
    judgement = judge(a, b)
    assert judgement.relation == "different"
    assert token in {t for v in judgement.blocking for t in v.only_a}


@pytest.mark.parametrize(
    "names", [("C", "C++"), ("C", "C#"), ("C++", "C#"), ("età", "ET"), ("Ω-3", "3")]
)
def test_names_that_simplify_alike_stay_apart(names: tuple[str, str]) -> None:
    """Bare names that lose their signs in a simplification are still two names."""
    assert judge(*names).relation == "different"


@pytest.mark.parametrize(
    "names", [("R", "R+"), (".NET", "NET"), ("HIV+", "HIV-"), ("A*", "A"), ("✓", "✗"), ("Mb", "MB")]
)
@pytest.mark.parametrize("frame", ["rows of {}", "righe con valore {} nel mese"])
def test_a_sign_is_part_of_a_name(names: tuple[str, str], frame: str) -> None:
    """Texts that differ in a sign, or in the case of a unit, never merge by themselves."""
    relation = judge(frame.format(names[0]), frame.format(names[1])).relation
    assert relation in ("different", "unsure")


def test_a_template_with_twenty_concepts_gives_no_pair() -> None:
    """One sentence frame does not make two concepts alike."""
    names = [f"concept{chr(97 + i)}" for i in range(20)]
    texts = [
        f"{n} = procedure with flag_{n} = TRUE, COUNT(DISTINCT cod_paz) by year" for n in names
    ]
    relations = {judge(a, b).relation for i, a in enumerate(texts) for b in texts[:i]}
    assert relations == {"different"}


def test_spellings_of_one_sentence_are_equal() -> None:
    """A full stop, a blank, a capital and the Unicode form make no difference."""
    assert judge("L'età è nota.", "l'eta\u0300  e\u0300 nota").relation == "equal"


def test_a_text_that_says_more_contains_the_other() -> None:
    """Words on one side only make a containment, in either direction."""
    more = "Net revenue is invoiced amount minus returns and discounts"
    less = "Net revenue is invoiced amount minus returns"
    assert judge(more, less).relation == "contains"
    assert judge(less, more).relation == "contained"


def test_given_subjects_are_compared_as_such() -> None:
    """Other subjects keep equal definitions apart, two spellings of one subject do not."""
    detail = "flag_x = TRUE"
    apart = judge(
        f"Smoker\n{detail}", f"Diabetic\n{detail}", subject_a="Smoker", subject_b="Diabetic"
    )
    assert [v.guard for v in apart.blocking][:1] == ["subject"]
    together = judge(
        f"Smoker\n{detail}", f"smoker.\n{detail}", subject_a="Smoker", subject_b="smoker."
    )
    assert together.outcome is Outcome.PASS


def test_the_first_mismatch_is_enough_for_routing() -> None:
    """Without a complete judgement the relation is the same and less work is done."""
    a, b = "at least 3 days, 'A'", "at most 4 months, 'B'"
    short, full = judge(a, b, complete=False), judge(a, b)
    assert short.relation == full.relation == "different"
    assert len(short.verdicts) < len(full.verdicts)


@pytest.mark.parametrize(("a", "b", "kind"), DIFFERENT)
def test_no_different_pair_looks_alike(a: str, b: str, kind: str) -> None:
    """Nothing that differs passes all guards, whatever the kind; most of it is refused outright."""
    assert judge(a, b).relation not in ("equal", "alike"), kind


def test_most_different_pairs_need_no_person() -> None:
    """At least four in five are set apart without anybody's time."""
    refused = sum(judge(a, b).relation == "different" for a, b, _ in DIFFERENT)
    assert refused >= 0.8 * len(DIFFERENT)


def test_most_true_pairs_are_not_refused() -> None:
    """At least nine in ten paraphrases and translations pass or reach a person."""
    lost = [(a, b) for a, b, _ in SAME if judge(a, b).relation == "different"]
    assert len(lost) <= 0.1 * len(SAME), lost


_VOCABULARY = (
    "il paziente cliente ordine è con almeno 3 30 giorni mesi non flag_x = TRUE 'A' 'B' per mese "
    "the customer is not at least 4 or and by to from net gross first last . , COUNT DISTINCT"
)
_WORDS = st.sampled_from(_VOCABULARY.split())
_TEXTS = st.lists(_WORDS, min_size=1, max_size=12).map(" ".join)


@given(_TEXTS, _TEXTS)
def test_a_judgement_does_not_depend_on_the_order(a: str, b: str) -> None:
    """The relation of B to A mirrors that of A to B."""
    forth, back = judge(a, b).relation, judge(b, a).relation
    assert back == _MIRRORED.get(forth, forth)


@given(_TEXTS)
def test_every_text_equals_itself(text: str) -> None:
    """A text and its respelling are equal."""
    assert judge(text, f"  {text} ").relation == "equal"


@given(_TEXTS, st.integers(2, 500), st.integers(2, 500))
def test_another_number_is_never_alike(text: str, x: int, y: int) -> None:
    """Whatever stands around it, a number that differs keeps texts apart from merging."""
    if x != y:
        assert judge(f"{text} {x} volte", f"{text} {y} volte").relation not in ("equal", "alike")


@given(_TEXTS)
def test_a_negation_more_is_never_alike(text: str) -> None:
    """A text and its negation never merge."""
    assert judge(text, f"not {text}").relation not in ("equal", "alike")


def test_huge_texts_go_to_a_person() -> None:
    """Beyond the limit only equality is looked at; the one verdict says why, and is no pass."""
    long = "a rule about late orders, " * (LONGEST // 40)
    found = judge(long + "first", long + "second")
    (verdict,) = found.verdicts
    assert (found.relation, verdict.guard, verdict.outcome) == ("unsure", "length", Outcome.UNSURE)
    assert "too long to judge" in verdict.note
    assert judge(long, long + " ").relation == "equal"
