"""The preview: what may become memory, and every refusal with its reason."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.domain.candidates import (
    Preview,
    SchemaNames,
    pending_refs,
    preview,
    scope_of,
    scope_text,
    session_schema_names,
)
from tests.building import note, replay, row

TABLE = row(90, "table_promoted", subject="ricoveri", tables=["reparti"])
COLUMN = row(91, "column_promoted", subject="tipo_ricovero", tables=["dimissioni"])


def _preview(*ledger: dict[str, Any], with_columns: bool = False) -> Preview:
    session = replay(ledger)
    return preview(session, session_schema_names(session, with_columns=with_columns))


def _offered(found: Preview) -> list[int]:
    return [c.decision.event.ref for c in found.candidates]


def _refused(found: Preview) -> dict[int, str]:
    return {r.decision.event.ref: r.code for r in found.refused}


@pytest.mark.parametrize(
    "subject",
    ["fact_cardioversione", "dim_time", "FACT_Ricoveri", "Dim_Tempo", "fact_", " fact_x ",
     "`fact_x`", '"dim_time"', "ricoveri", "reparti", "dimissioni", " ricoveri "],
)  # fmt: skip
def test_schema_linking_in_disguise_is_refused(subject: str) -> None:
    """A bare table name is a choice of this question, whatever type its row has."""
    found = _preview(row(1, subject=subject), TABLE, COLUMN)
    assert _refused(found)[1] == "schema-name"
    assert _offered(found) == []


@pytest.mark.parametrize(
    "subject",
    ["rows of fact_x that count", "fact_x and dim_time", "Ricoveri", "RICOVERI", "ricovero",
     "artifact_x", "facts", "fact", "a fact_", "tipo_ricovero", "dimensione", "ricoveri urgenti"],
)  # fmt: skip
def test_concepts_that_mention_a_schema_are_kept(subject: str) -> None:
    """Prose, another case, another word, or a column: sound concepts are named like that."""
    assert _offered(_preview(row(1, subject=subject), TABLE, COLUMN)) == [1]


def test_columns_count_only_where_they_are_asked_for() -> None:
    """Off by default: many sound concepts are named like a column."""
    ledger = (row(1, subject="tipo_ricovero"), COLUMN)
    assert _offered(_preview(*ledger)) == [1]
    assert _refused(_preview(*ledger, with_columns=True))[1] == "schema-name"


def test_tables_of_stale_decisions_still_name_the_schema() -> None:
    """A table that was ruled out again is no concept either."""
    ledger = [row(1, "table_excluded", subject="reparti", phase="F3"), row(2, "phase_rolled_back")]
    assert _refused(_preview(*ledger, row(3, subject="reparti")))[3] == "schema-name"


def test_patterns_are_the_tenants_own() -> None:
    """Configured shapes replace the usual ones, whatever their case."""
    names = SchemaNames(patterns=("STG_*", "v?_*"))
    assert names.refusal("stg_orders") is not None
    assert names.refusal("V1_orders") is not None
    assert names.refusal("fact_orders") is None


def test_every_decision_is_offered_or_refused_with_its_reason() -> None:
    """One of each kind; markers do not rescue what can never be memory."""
    found = _preview(
        row(1),
        row(2, "table_promoted", subject="t"),
        row(3, "memory_event", detail="a note"),
        row(4, subject=" "),
        row(5, detail="\t"),
        row(6),
        note(7, "decision_withdrawn", "seq:6"),
        row(8),
        note(9, "memory_promoted", "seq:8"),
        row(10),
        note(11, "memory_promotion_declined", "seq:10"),
        row(12, subject="dim_time"),
        note(13, "memory_promoted", "seq:12"),
        row(14, subject="concept 1", detail="Definition 1."),
    )
    assert _offered(found) == [1]
    assert _refused(found) == {
        2: "not-reusable",
        3: "not-reusable",
        4: "empty",
        5: "empty",
        6: "not-in-force",
        8: "promoted",
        10: "declined",
        12: "schema-name",
        14: "equal-content",
    }
    assert "seq:7" in next(r.reason for r in found.refused if r.code == "not-in-force")
    assert "seq:1" in next(r.reason for r in found.refused if r.code == "equal-content")


def test_there_is_no_cap() -> None:
    """Fifty clarifications are fifty candidates, in ledger order."""
    assert _offered(_preview(*(row(n) for n in range(1, 51)))) == list(range(1, 51))


def test_equal_content_is_offered_once_and_all_of_it_waits() -> None:
    """Four spellings make one candidate; each decision still needs a verdict."""
    spellings = ["età media", "Età media.", "età  media", "eta\u0300 media"]
    found = _preview(*(row(n, subject="x", detail=d) for n, d in enumerate(spellings, 1)), row(5))
    assert _offered(found) == [1, 5]
    assert found.candidates[0].equal_refs == (2, 3, 4)
    assert pending_refs(found.candidates) == (1, 2, 3, 4, 5)


def test_equal_content_of_another_scope_is_a_candidate_of_its_own() -> None:
    """What one client's advisor wrote is not answered for by another client's row."""
    same = {"subject": "x", "detail": "y"}
    found = _preview(
        row(1, **same),
        row(2, **same, client_id="c1"),
        row(3, **same, client_id="c2"),
        row(4, **same, client_id="c2", user_id="u1"),
        row(5, **same, user_id="u1"),
        row(6, **same, user_id="u1", audience="tenant"),
    )
    assert _offered(found) == [1, 2, 3, 5]
    assert {c.scope for c in found.candidates} == {
        ("", "", "tenant"),
        ("", "c1", "client"),
        ("", "c2", "client"),
        ("u1", "", "user"),
    }


@pytest.mark.parametrize(
    ("user", "client", "audience", "scope"),
    [
        (None, None, None, ("", "", "tenant")),
        ("u", None, None, ("u", "", "user")),
        ("u", "c", None, ("", "c", "client")),
        (None, "c", None, ("", "c", "client")),
        ("u", "c", "tenant", ("", "", "tenant")),
        ("u", "c", "client", ("", "c", "client")),
        ("u", "c", "profile", ("", "c", "profile")),
        ("u", "c", "user", ("u", "c", "user")),
    ],
)
def test_the_scope_is_as_narrow_as_its_owner_unless_somebody_says_more(
    user: str | None, client: str | None, audience: str | None, scope: tuple[str, str, str]
) -> None:
    """Without a stated audience a row belongs to its client, else its user, else the tenant."""
    assert scope_of(user, client, audience) == scope


IDS = st.text("a|\\", max_size=4)
SCOPES = st.tuples(IDS, IDS, st.sampled_from(["tenant", "user", "client"]))


@given(SCOPES, SCOPES)
def test_distinct_scopes_have_distinct_texts(
    one: tuple[str, str, str], other: tuple[str, str, str]
) -> None:
    """An id that holds the separator must not open another one's scope."""
    assert (scope_text(one) == scope_text(other)) == (one == other)
