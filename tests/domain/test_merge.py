"""Routes of pairs, and who stays of a group."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import get_args

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.domain.guards import Judgement, Outcome, Relation, Verdict, judge
from memory_assets.domain.merge import (
    Decision,
    Member,
    MergePolicy,
    decide,
    evidence,
    merges_alone,
    pair_key,
    review_floor,
    stands_apart,
    survivor,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
EARNED = MergePolicy(threshold=0.95, floor=0.8)
NOTHING = MergePolicy(threshold=None, floor=0.8)
EQUAL = Judgement((), equal=True)
ALIKE = Judgement((Verdict("numbers", Outcome.PASS),), equal=False)
UNSURE = Judgement((Verdict("content", Outcome.UNSURE, ("x",), ("y",)),), equal=False)
MORE = Judgement((Verdict("content", Outcome.UNSURE, ("x",)),), equal=False)
DIFFERENT = Judgement((Verdict("numbers", Outcome.MISMATCH, ("1",), ("2",)),), equal=False)


@pytest.mark.parametrize(
    ("judgement", "cosine", "policy", "same_subject", "expected"),
    [
        (EQUAL, 0.1, NOTHING, True, Decision("auto", "same")),
        (ALIKE, 0.96, EARNED, True, Decision("auto", "same")),
        (ALIKE, 0.96, EARNED, False, Decision("review", "same")),
        (ALIKE, 0.94, EARNED, True, Decision("review", "same")),
        (ALIKE, 0.99, NOTHING, True, Decision("review", "same")),
        (UNSURE, 0.999, EARNED, True, Decision("review", "same")),
        (MORE, 0.9, EARNED, True, Decision("review", "contains")),
        (UNSURE, 0.79, EARNED, False, Decision("ignored", None)),
        (DIFFERENT, 0.999, EARNED, True, Decision("ignored", "conflicts")),
        (DIFFERENT, 0.999, EARNED, False, Decision("ignored", None)),
    ],
)
def test_the_route_of_a_pair(
    judgement: Judgement,
    cosine: float,
    policy: MergePolicy,
    same_subject: bool,
    expected: Decision,
) -> None:
    """Cosine proposes, guards decide, and only earned thresholds merge without a person."""
    assert decide(judgement.relation, cosine, policy, same_subject=same_subject) == expected


@given(
    st.lists(
        st.tuples(
            st.sampled_from(get_args(Relation)),
            st.booleans(),
            st.sampled_from([0.0, 0.79, 0.8, 0.949, 0.95, 1.0]),
        )
    )
)
def test_the_rules_over_rows_are_those_of_one_pair(pairs: list[tuple[str, bool, float]]) -> None:
    """What is sorted out in a table of millions is what ``decide`` says of each pair in it."""
    schema = {"relation": pl.String, "same_subject": pl.Boolean, "cosine": pl.Float64}
    rows = pl.DataFrame(pairs, schema=schema, orient="row")
    asked = rows.select(apart=stands_apart(), alone=merges_alone(0.95))
    for (relation, same, cosine), (apart, alone) in zip(pairs, asked.iter_rows(), strict=True):
        found = decide(relation, cosine, EARNED, same_subject=same)  # type: ignore[arg-type]
        assert alone == (found.route == "auto")
        if apart:
            assert found == Decision("ignored", None)
        elif relation == "different":
            assert found.proposal == "conflicts"


def test_a_pair_of_one_subject_is_shown_whatever_its_cosine() -> None:
    """Four definitions of one acronym may have unlike vectors."""
    found = decide(UNSURE.relation, 0.1, NOTHING, same_subject=True, found_by_subject=True)
    assert found == Decision("review", "same")


def test_a_raised_floor_lies_above_unrelated_texts() -> None:
    """In any space the floor lies between unrelated pairs and equality."""
    assert 0.84 < review_floor(0.84) < 1
    assert review_floor(0.0) == pytest.approx(0.4)


def member(memory_id: str, **fields: object) -> Member:
    """A member with defaults that decide nothing."""
    base: dict[str, object] = {
        "reviewed": False,
        "corroborations": 0,
        "completeness": 10,
        "decided_at": START,
    }
    return Member(memory_id, **{**base, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("stays", "goes"),
    [
        (member("mem-0009", reviewed=True), member("mem-0001", corroborations=9)),
        (member("mem-0009", corroborations=2), member("mem-0001", completeness=99)),
        (member("mem-0009", completeness=20), member("mem-0001")),
        (member("mem-0009"), member("mem-0001", decided_at=START + timedelta(days=1))),
        (member("mem-0002"), member("mem-0010")),
        (member("mem-9999"), member("mem-10000")),
    ],
)
def test_the_rules_of_the_survivor_in_their_order(stays: Member, goes: Member) -> None:
    """Reviewed, then seen more, then fuller, then older, then the lower number."""
    assert survivor([goes, stays]) == stays == survivor([stays, goes])


_MEMBERS = st.lists(
    st.builds(
        Member,
        st.integers(1, 20).map(lambda n: f"mem-{n:04d}"),
        st.booleans(),
        st.integers(0, 3),
        st.integers(0, 3),
        st.integers(0, 3).map(lambda d: START + timedelta(days=d)),
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda m: m.memory_id,
)


@given(_MEMBERS, st.randoms())
def test_the_survivor_does_not_depend_on_the_order(members: list[Member], random: object) -> None:
    """A total order has one minimum."""
    first = survivor(members)
    random.shuffle(members)  # type: ignore[attr-defined]
    assert survivor(members) == first


def test_evidence_says_what_a_merge_rests_on() -> None:
    """Cosine, space, threshold, rule version and the verdicts that are no pass."""
    found = evidence(cosine=0.91, space_id="s", judgement=judge("3 days", "4 days"), threshold=None)
    assert found["cosine"] == 0.91
    assert found["relation"] == "different"
    assert found["verdicts"][0]["only_a"] == ["3"]
    assert found["rule_version"].startswith("guards-")


def test_a_pair_has_one_key() -> None:
    """Whichever memory is named first."""
    assert pair_key("b", "a") == pair_key("a", "b") == ("a", "b")
