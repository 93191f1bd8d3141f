"""Accepted decisions → new memories and corroborations. Rules: see ``properties`` too."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from memory_assets.domain.promotion import (
    Accepted,
    Known,
    PromotionPlan,
    plan_promotions,
    replacements,
    survivors_of,
)
from memory_assets.domain.schemas import CORROBORATIONS, MEMORIES

NOTHING = Known(frozenset(), {}, {}, {})


def decision(
    session: str = "s1", seq: int = 1, *, tenant: str = "t", **fields: Any
) -> dict[str, Any]:
    """A row of the decisions table, as far as promotion reads it."""
    base = {
        "tenant_id": tenant, "session_id": session, "decision_seq": seq, "fact_no": 0,
        "decided_at": datetime(2026, 1, 31, tzinfo=UTC), "type": "concept_clarified",
        "subject": "s", "detail": "d", "rationale": "", "question_context": "",
        "tables": ["fact_x"],
        "concepts": [], "user_id": None, "client_id": None, "audience": None, "source": None,
        "metadata": "{}", "duplicate_key": f"{session}/{seq}", "content_sha256": "0" * 64,
        "scope": "||tenant", "cites": [],
    }  # fmt: skip
    return base | fields


def accepted(row: dict[str, Any], **fields: Any) -> Accepted:
    """The decision, accepted by a reviewer."""
    return Accepted(row, fields.pop("origin", "reviewed"), "anna", **fields)


def plan(*items: Accepted, known: Known = NOTHING, generation: int = 1) -> PromotionPlan:
    """What the next generation adds."""
    return plan_promotions(items, known, generation=generation)


def test_a_new_decision_becomes_a_memory_without_tables() -> None:
    """The row has every column of the table, and none of the question's schema choices."""
    found = plan(accepted(decision(detail="Def", cites=["mem-0009"])), generation=7)
    (memory,) = found.memories
    assert set(memory) == set(MEMORIES.names())
    assert (memory["memory_id"], memory["detail"], memory["tables"]) == ("mem-0001", "Def", [])
    assert (memory["promoted_generation"], memory["verdict_by"]) == (7, "anna")
    assert memory["origin"] == "reviewed"
    assert found.corroborations == ()
    assert found.counters == {"t": 1}


def test_ids_are_given_in_the_order_of_the_promotion_keys() -> None:
    """Tenant, session, ledger rows before companion rows, number, fact: not the order of input."""
    keys = [("b", "s1", 1, 0), ("a", "s2", 1, 0), ("a", "s1", -1, 0), ("a", "s1", 10, 0),
            ("a", "s1", 2, 2), ("a", "s1", 2, 1), ("a", "s1", -2, 0)]  # fmt: skip
    rows = [
        decision(s, n, tenant=t, fact_no=f, duplicate_key=str(k))
        for k, (t, s, n, f) in enumerate(keys)
    ]
    found = plan(*(accepted(r) for r in rows))
    order = [
        (m["memory_id"], m["tenant_id"], m["session_id"], m["decision_seq"], m["fact_no"])
        for m in found.memories
    ]
    assert order == [
        ("mem-0001", "a", "s1", 2, 1),
        ("mem-0002", "a", "s1", 2, 2),
        ("mem-0003", "a", "s1", 10, 0),
        ("mem-0004", "a", "s1", -1, 0),
        ("mem-0005", "a", "s1", -2, 0),
        ("mem-0006", "a", "s2", 1, 0),
        ("mem-0001", "b", "s1", 1, 0),
    ]


def test_equal_content_corroborates_in_its_own_words() -> None:
    """One memory, and a row with the incoming text for each further decision."""
    same: dict[str, Any] = {"duplicate_key": "k"}
    found = plan(
        accepted(decision("s1", detail="Def", **same)),
        accepted(decision("s2", detail="def.", **same), origin="automatic"),
    )
    (memory,) = found.memories
    (seen,) = found.corroborations
    assert set(seen) == set(CORROBORATIONS.names())
    assert (seen["memory_id"], seen["kind"], seen["detail"]) == ("mem-0001", "equal", "def.")
    assert (memory["detail"], seen["tables"]) == ("Def", ["fact_x"])


def test_equal_content_of_other_tenants_and_scopes_is_another_memory() -> None:
    """Nothing is ever answered for across tenants or privacy scopes."""
    found = plan(
        accepted(decision("s1", duplicate_key="k")),
        accepted(decision("s2", duplicate_key="k", scope="|c1|client")),
        accepted(decision("s1", duplicate_key="k", tenant="u")),
    )
    assert len(found.memories) == 3
    assert found.counters == {"t": 2, "u": 1}


KNOWN = Known(
    settled=frozenset({("t", "s0", 1, 0)}),
    by_content={("t", "||tenant", "k"): "mem-0002"},
    survivors={("t", "mem-0001"): "mem-0002", ("t", "mem-0002"): "mem-0002"},
    counters={"t": 5},
)


@pytest.mark.parametrize(
    ("cites", "kind"),
    [([], "equal"), (["mem-0002"], "reuse"), (["mem-0001"], "reuse"), (["mem-0003"], "equal")],
)
def test_a_citation_with_equal_content_is_a_reuse(cites: list[str], kind: str) -> None:
    """Also when the cited memory was replaced by the equal one; another citation is none."""
    (seen,) = plan(accepted(decision(duplicate_key="k", cites=cites)), known=KNOWN).corroborations
    assert (seen["memory_id"], seen["kind"], seen["rule_version"]) == ("mem-0002", kind, "equal-v1")


def test_a_citation_with_other_content_is_no_reuse() -> None:
    """A refinement that a reviewer accepted is a memory of its own."""
    found = plan(accepted(decision(duplicate_key="other", cites=["mem-0002"])), known=KNOWN)
    assert [m["memory_id"] for m in found.memories] == ["mem-0006"]
    assert found.corroborations == ()


def test_a_reviewer_may_name_the_memory_it_duplicates() -> None:
    """The named memory's survivor gets the corroboration, whatever the texts."""
    item = accepted(decision(duplicate_key="other"), duplicate_of="mem-0001")
    (seen,) = plan(item, known=KNOWN).corroborations
    assert (seen["memory_id"], seen["kind"], seen["rule_version"]) == (
        "mem-0002",
        "duplicate",
        "reviewer",
    )


def test_a_settled_key_adds_nothing() -> None:
    """Memories, corroborations and tombstones settle their key for ever."""
    found = plan(accepted(decision("s0", 1)), known=KNOWN)
    assert (found.empty, found.already_settled, found.counters) == (True, 1, {"t": 5})


def test_one_decision_accepted_twice_counts_once() -> None:
    """A marker and a review decision on the same row are one promotion."""
    found = plan(accepted(decision()), accepted(decision()))
    assert (len(found.memories), found.already_settled) == (1, 1)


def test_numbers_are_never_used_again() -> None:
    """The counter goes on from what was allocated, whatever is left of it."""
    known = Known(frozenset(), {}, {}, {"t": 9999, "u": 3})
    found = plan(accepted(decision()), known=known)
    assert [m["memory_id"] for m in found.memories] == ["mem-10000"]
    assert found.counters == {"t": 10000, "u": 3}


def test_an_edited_text_keeps_where_it_came_from() -> None:
    """The reviewer's words are stored with the words they replace."""
    item = Accepted(decision(detail="better"), "edited", "anna", edited_from='{"detail":"good"}')
    (memory,) = plan(item).memories
    assert (memory["origin"], memory["edited_from"]) == ("edited", '{"detail":"good"}')


def _supersession(a: str, b: str, *, retracted: bool = False) -> dict[str, Any]:
    return {"tenant_id": "t", "memory_id": a, "superseded_by": b, "retracted": retracted}


@pytest.mark.parametrize(
    ("rows", "survivors"),
    [
        ([], "abc"),
        ([_supersession("a", "b")], "bbc"),
        ([_supersession("a", "b"), _supersession("b", "c")], "ccc"),
        ([_supersession("b", "c"), _supersession("a", "b")], "ccc"),
        ([_supersession("a", "b"), _supersession("a", "b", retracted=True)], "abc"),
        ([_supersession("a", "b"), _supersession("a", "c", retracted=True)], "bbc"),
        ([_supersession("a", "b"), _supersession("a", "c")], "cbc"),
    ],
)
def test_the_survivor_is_the_end_of_the_chain(rows: list[dict[str, Any]], survivors: str) -> None:
    """Chains are followed, retractions undo their own pair, later rows count."""
    found = survivors_of([("t", m) for m in "abc"], replacements(rows))
    assert "".join(found["t", m] for m in "abc") == survivors


def test_a_circle_of_supersessions_ends() -> None:
    """The checks refuse it; whoever meets one all the same must not hang."""
    rows = [_supersession("a", "b"), _supersession("b", "a")]
    assert survivors_of([("t", "a"), ("t", "b")], replacements(rows)) == {
        ("t", "a"): "b",
        ("t", "b"): "a",
    }


def test_supersessions_of_another_tenant_do_not_count() -> None:
    """Ids are unique per tenant only."""
    rows = [_supersession("a", "b") | {"tenant_id": "u"}]
    assert survivors_of([("t", "a")], replacements(rows)) == {("t", "a"): "a"}
