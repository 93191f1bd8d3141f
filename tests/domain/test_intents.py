"""Intents are applied in order, each once, or refused by name."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.domain.intents import (
    AssignTier,
    ImportMemory,
    Intent,
    IntentOutcome,
    IntentState,
    Recorded,
    Redacted,
    Remove,
    Retire,
    Retract,
    Supersede,
    apply_intents,
    named_memories,
)
from memory_assets.domain.promotion import replacements

BY: dict[str, Any] = {
    "tenant_id": "t",
    "decided_by": "reviewer anna",
    "decided_at": datetime(2026, 3, 1, tzinfo=UTC),
}
A, B, C = "mem-0001", "mem-0002", "mem-0003"


def state(**changes: Any) -> IntentState:
    """Three active memories of one tenant, promoted from rows 1 to 3 of one session."""
    base: dict[str, Any] = {
        "scopes": {("t", m): "||tenant" for m in (A, B, C)},
        "replaced": {},
        "retired": set(),
        "tiers": {},
        "buried": set(),
        "settled": {("t", "s", n, 0) for n in (1, 2, 3)},
        "counters": {"t": 3},
        "holders": {("t", "s", n, 0): ("t", m) for n, m in enumerate((A, B, C), 1)},
        "promoting": {"t"},
    }
    return IntentState(**(base | changes))


def apply(*intents: Intent, to: IntentState | None = None) -> IntentOutcome:
    """What generation 7 makes of them."""
    lines = [Recorded(n, i) for n, i in enumerate(intents, 1)]
    return apply_intents(lines, to or state(), generation=7)


def codes(outcome: IntentOutcome) -> list[tuple[int, str]]:
    """Number and code of every refusal."""
    return [(r.no, r.code) for r in outcome.refused]


def supersede(old: str, new: str) -> Supersede:
    """``new`` replaces ``old``."""
    return Supersede(memory_id=old, superseded_by=new, evidence='{"cosine":0.9}', **BY)


def retract(old: str, new: str) -> Retract:
    """The pair is undone."""
    return Retract(memory_id=old, superseded_by=new, **BY)


def imported(memory: str, **fields: Any) -> ImportMemory:
    """A record of another registry."""
    base: dict[str, Any] = {
        "session_id": "old",
        "decision_seq": 9,
        "record_decided_at": BY["decided_at"],
        "type": "concept_clarified",
        "subject": "s",
        "detail": "d",
        "scope": "||tenant",
    }
    return ImportMemory(memory_id=memory, **(BY | base | fields))


def test_a_supersession_becomes_one_row_with_its_evidence() -> None:
    """The row carries who, why and the generation."""
    (row,) = apply(supersede(A, B)).rows["supersessions"]
    assert row == {
        "tenant_id": "t",
        "memory_id": A,
        "superseded_by": B,
        "generation": 7,
        "retracted": False,
        "decided_by": "reviewer anna",
        "evidence": '{"cosine":0.9}',
    }


@pytest.mark.parametrize(
    ("old", "new", "changes", "code"),
    [
        (A, A, {}, "same-memory"),
        (A, "mem-0009", {}, "unknown-memory"),
        ("mem-0009", A, {}, "unknown-memory"),
        (A, B, {"retired": {("t", B)}}, "not-active"),
        (A, B, {"retired": {("t", A)}}, "not-active"),
        (A, B, {"replaced": {("t", B): C}}, "not-active"),
        (A, B, {"replaced": {("t", A): C}}, "not-active"),
        (A, B, {"scopes": {("t", A): "||tenant", ("t", B): "u||user"}}, "other-scope"),
        (A, B, {"scopes": {("t", A): "||tenant", ("other", B): "||tenant"}}, "unknown-memory"),
    ],
)
def test_what_the_state_forbids_is_refused(
    old: str, new: str, changes: dict[str, Any], code: str
) -> None:
    """Never itself, never across tenants or scopes, never by or of what is not active."""
    outcome = apply(supersede(old, new), to=state(**changes))
    assert (codes(outcome), outcome.rows, outcome.applied) == ([(1, code)], {}, 0)


def test_a_chain_follows_and_a_circle_cannot_arise() -> None:
    """B replaces A, C replaces B; A cannot come back as C's replacement."""
    outcome = apply(supersede(A, B), supersede(B, C), supersede(C, A))
    assert codes(outcome) == [(3, "not-active")]
    assert replacements(outcome.rows["supersessions"]) == {("t", A): B, ("t", B): C}


def test_what_was_undone_before_publication_never_was() -> None:
    """A supersession and its retraction in one generation leave no row."""
    outcome = apply(supersede(A, B), retract(A, B))
    assert (outcome.rows["supersessions"], outcome.applied) == ([], 2)
    published = state(replaced={("t", A): B})
    outcome = apply(retract(A, B), supersede(A, B), to=published)
    assert outcome.rows["supersessions"] == []


def test_only_a_pair_in_force_can_be_retracted() -> None:
    """Another pair, or one that was undone already, is refused."""
    published = state(replaced={("t", A): B})
    assert codes(apply(retract(A, C), retract(A, B), retract(A, B), to=published)) == [
        (1, "no-such-pair"),
        (3, "no-such-pair"),
    ]


def test_retirements_and_tiers_happen_once() -> None:
    """A second retirement and a move to the same tier change nothing and say so."""
    outcome = apply(
        Retire(memory_id=A, reason="withdrawn", **BY),
        Retire(memory_id=A, **BY),
        AssignTier(memory_id=B, tier="core", reason="rule", **BY),
        AssignTier(memory_id=B, tier="core", **BY),
        AssignTier(memory_id=C, tier="recall", **BY),
        AssignTier(memory_id=C, tier="core", **BY),
        AssignTier(memory_id=C, tier="archival", **BY),
    )
    assert codes(outcome) == [(2, "no-change"), (4, "no-change"), (5, "no-change")]
    assert [r["reason"] for r in outcome.rows["retirements"]] == ["withdrawn"]
    tiers = [(r["memory_id"], r["tier"]) for r in outcome.rows["tier_assignments"]]
    assert tiers == [(B, "core"), (C, "archival")]


def test_an_import_keeps_its_id_and_moves_the_counter() -> None:
    """Only before the tenant's own first memory; ids and keys are taken once."""
    empty = state(scopes={}, settled=set(), counters={}, holders={}, promoting=set())
    outcome = apply(
        imported("mem-0012"),
        imported("mem-0012", session_id="x"),
        imported("mem-0013"),
        imported("mem-12", session_id="y"),
        imported("mem-0002", session_id="z", type="table_promoted", retired="a table"),
        to=empty,
    )
    assert codes(outcome) == [(2, "id-taken"), (3, "key-taken"), (4, "bad-id")]
    assert empty.counters == {"t": 12}
    rows = [(r["memory_id"], r["origin"]) for r in outcome.rows["memories"]]
    assert rows == [("mem-0012", "imported"), ("mem-0002", "imported")]
    assert [r["memory_id"] for r in outcome.rows["retirements"]] == ["mem-0002"]
    assert codes(apply(imported("mem-0012"))) == [(1, "too-late")]
    assert codes(apply(imported("mem-0012"), to=state(buried={("t", "mem-0012")}))) == [
        (1, "buried")
    ]


def test_a_removal_takes_what_was_about_to_be_added_along() -> None:
    """By id or by the key of the decision; rows of the same generation about it go too."""
    outcome = apply(
        supersede(A, B),
        AssignTier(memory_id=C, tier="core", **BY),
        Remove(memory_ids=(B,), keys=(("s", 3, 0), ("s", 8, 0)), removal="erasure", **BY),
        supersede(A, B),
    )
    assert set(outcome.removed) == {("t", B), ("t", C)}
    assert set(outcome.buried_keys) == {("t", "s", 3, 0), ("t", "s", 8, 0)}
    assert outcome.rows == {"supersessions": [], "tier_assignments": []}
    assert codes(outcome) == [(4, "unknown-memory")]
    nothing = Remove(memory_ids=("mem-0009",), removal="erasure", **BY)
    assert codes(apply(nothing)) == [(1, "nothing-there")]


def test_a_redacted_line_does_nothing() -> None:
    """It only keeps its number."""
    outcome = apply(Redacted(**BY), Retire(memory_id=A, **BY))
    assert (outcome.applied, outcome.through) == (2, 2)
    assert set(outcome.rows) == {"retirements"}


@pytest.mark.parametrize(
    "intent",
    [
        supersede(A, B),
        retract(A, B),
        Retire(memory_id=A, **BY),
        AssignTier(memory_id=A, tier="core", **BY),
        imported(A),
        Remove(memory_ids=(A,), removal="erasure", **BY),
        Redacted(**BY),
    ],
    ids=lambda i: type(i).__name__,
)
def test_every_intent_survives_the_file(intent: Intent) -> None:
    """Encoded and decoded it is the same, and it names the memories it is about."""
    line = Recorded(4, intent)
    assert msgspec.json.decode(msgspec.json.encode(line), type=Recorded) == line
    named = [m for _, m in named_memories(intent)]
    assert named == ([] if isinstance(intent, Redacted) else [A, B][: len(named)])
    assert len(named) == {Supersede: 2, Retract: 2, Redacted: 0}.get(type(intent), 1)


IDS = st.sampled_from([A, B, C])
WISHES = st.lists(
    st.one_of(
        st.builds(supersede, IDS, IDS),
        st.builds(retract, IDS, IDS),
        st.builds(lambda m: Retire(memory_id=m, **BY), IDS),
    ),
    max_size=12,
)


@given(WISHES, st.integers(0, 12))
def test_it_does_not_matter_where_a_night_falls(wishes: list[Intent], cut: int) -> None:
    """Applied in one night or split over two, the same memories are replaced and retired."""
    whole, parts = state(), state()
    together = apply_intents([Recorded(n, w) for n, w in enumerate(wishes, 1)], whole, generation=7)
    rows: list[dict[str, Any]] = []
    for generation, some in ((7, wishes[:cut]), (8, wishes[cut:])):
        lines = [Recorded(n, w) for n, w in enumerate(some, 1)]
        done = apply_intents(lines, parts, generation=generation)
        rows += done.rows.get("supersessions", [])
    assert (whole.replaced, whole.retired) == (parts.replaced, parts.retired)
    assert replacements(rows) == parts.replaced
    assert replacements(together.rows.get("supersessions", [])) == whole.replaced
