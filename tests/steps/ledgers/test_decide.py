"""Events → decisions: only sessions with new events are replayed, and always whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from memory_assets.domain.schemas import DECISIONS, SESSIONS
from memory_assets.steps.ledgers import decide as deciding
from memory_assets.steps.ledgers import ingest as reading
from memory_assets.steps.ledgers.decide import DecideResult, TenantRules, current_decisions, decide
from memory_assets.storage.parts import DerivedTables
from tests.building import close, jsonl, note, row, write_session

STRICT = TenantRules(with_columns=True)


@pytest.fixture(name="ledgers")
def _ledgers(tmp_path: Path) -> Path:
    return tmp_path / "ledgers"


@pytest.fixture(name="derived")
def _derived(tmp_path: Path) -> DerivedTables:
    return DerivedTables(tmp_path / "derived")


def _night(ledgers: Path, derived: DerivedTables, **options: Any) -> DecideResult:
    reading.ingest(ledgers, derived)
    return decide(derived, **options)


def _decisions(derived: DerivedTables) -> list[dict[str, Any]]:
    found = current_decisions(derived, derived.read(reading.GROUP, SESSIONS))
    return found.sort("tenant_id", "session_id", "decision_seq").to_dicts()


def test_a_decision_row_holds_the_outcome_of_the_replay(
    ledgers: Path, derived: DerivedTables
) -> None:
    """Content, owner, state, verdict, refusal and keys of three decisions."""
    first = row(1, rationale="as mem-0007", user_id="u|1", client_id="c", concepts=["x"])
    rows = [
        first | {"metadata": {"b": 1, "a": 2}, "tables": ["fact_a"], "source": "CHAT"},
        row(2, subject="dim_time", audience="tenant"),
        row(3, "table_promoted", subject="t", phase="F3"),
        note(4, "memory_promoted", "seq:1"),
        row(5, "phase_rolled_back", phase="F2"),
        close(6),
    ]
    write_session(ledgers, "t", "s", rows)
    found = _night(ledgers, derived)
    assert (found.sessions, found.decided, found.decisions) == (1, 1, 3)
    assert (found.in_force, found.clarifications_in_force) == (2, 2)
    one, two, three = _decisions(derived)
    assert (one["verdict"], one["verdict_by"], one["in_force"]) == ("promoted", 4, True)
    assert (one["cites"], one["concepts"], one["tables"]) == (["mem-0007"], ["x"], ["fact_a"])
    assert (one["metadata"], one["source"], one["fact_no"]) == ('{"a":2,"b":1}', "CHAT", 0)
    assert (one["user_id"], one["client_id"], one["audience"]) == ("u|1", "c", None)
    assert (one["scope"], one["refusal_code"]) == ("|c|client", None)
    assert len(one["duplicate_key"]) == 32
    assert len(one["content_sha256"]) == 64
    assert (two["refusal_code"], two["scope"], two["duplicate_key"]) == (
        "schema-name",
        "||tenant",
        "",
    )
    assert (three["refusal_code"], three["ended_by"], three["ended_reason"]) == (
        "not-reusable",
        5,
        "phase_rolled_back",
    )


def test_only_sessions_with_new_events_are_replayed(ledgers: Path, derived: DerivedTables) -> None:
    """A withdrawal that arrives later is judged with all the rows before it."""
    paths = [write_session(ledgers, "t", f"s{n}", [row(1), row(2)]) for n in range(3)]
    assert _night(ledgers, derived).decided == 3
    assert _night(ledgers, derived).decided == 0
    with paths[1].open("ab") as out:
        out.write(jsonl([note(3, "decision_withdrawn", "seq:1")]))
    found = _night(ledgers, derived)
    assert (found.sessions, found.decided, found.decisions, found.in_force) == (3, 1, 6, 5)
    ended = [(d["session_id"], d["ended_by"]) for d in _decisions(derived) if not d["in_force"]]
    assert ended == [("s1", 3)]


def test_a_stop_between_the_stages_loses_nothing(ledgers: Path, derived: DerivedTables) -> None:
    """What is to be done is read from the tables, not remembered."""
    path = write_session(ledgers, "t", "s", [row(1)])
    reading.ingest(ledgers, derived)
    path.write_bytes(jsonl([row(1), row(2)]))
    reading.ingest(ledgers, derived)
    assert reading.ingest(ledgers, derived).read == 0
    assert decide(derived).decided == 1
    assert [d["decision_seq"] for d in _decisions(derived)] == [1, 2]


def test_lost_decisions_are_worked_out_again(ledgers: Path, derived: DerivedTables) -> None:
    """The table holds nothing of its own."""
    write_session(ledgers, "t", "s", [row(1)])
    _night(ledgers, derived)
    before = _decisions(derived)
    (derived.root / f"{deciding.GROUP}.json").unlink()
    assert decide(derived).decided == 1
    assert _decisions(derived) == before


def test_other_rules_judge_every_session_anew(ledgers: Path, derived: DerivedTables) -> None:
    """A column name is refused once the tenant asks for it, and each decision is held once."""
    rows = [row(1, subject="col_a"), row(2, "column_promoted", subject="col_a"), close(3)]
    write_session(ledgers, "t", "s", rows)
    write_session(ledgers, "u", "s", rows)
    _night(ledgers, derived)
    found = _night(ledgers, derived, rules_for=lambda t: STRICT if t == "t" else TenantRules())
    assert (found.decided, found.decisions) == (2, 4)
    codes = {(d["tenant_id"], d["decision_seq"]): d["refusal_code"] for d in _decisions(derived)}
    assert (codes["t", 1], codes["u", 1]) == ("schema-name", None)
    assert _night(ledgers, derived).decided == 2


def test_a_new_tenant_with_the_usual_rules_disturbs_nobody(
    ledgers: Path, derived: DerivedTables
) -> None:
    """Its sessions are replayed, the others are not."""
    write_session(ledgers, "t", "s", [row(1)])
    _night(ledgers, derived)
    write_session(ledgers, "u", "s", [row(1)])
    found = _night(ledgers, derived)
    assert (found.sessions, found.decided) == (2, 1)


def test_a_blocked_session_keeps_its_decisions(ledgers: Path, derived: DerivedTables) -> None:
    """A ledger that lost a row is not read as if the row had never been."""
    write_session(ledgers, "t", "s", [row(1), note(2, "decision_withdrawn", "seq:1")])
    _night(ledgers, derived)
    write_session(ledgers, "t", "s", [row(1)])
    found = _night(ledgers, derived)
    assert (found.decided, found.in_force) == (0, 0)


def test_sessions_without_decisions_are_settled_too(ledgers: Path, derived: DerivedTables) -> None:
    """An empty or unreadable one is not tried again every night."""
    write_session(ledgers, "t", "empty", [])
    write_session(ledgers, "t", "closed", [close(1)])
    (ledgers / "t" / "folder.jsonl").mkdir()
    found = _night(ledgers, derived)
    assert (found.sessions, found.decided, found.decisions) == (2, 2, 0)
    assert _night(ledgers, derived).decided == 0


def test_without_sessions_there_is_nothing(derived: DerivedTables) -> None:
    """Before the first reading the table is empty, with its schema."""
    assert decide(derived) == DecideResult(0, 0, 0, 0, 0)
    assert derived.read(deciding.GROUP, DECISIONS).schema == DECISIONS.schema


def test_fresh_homes_hold_the_same_bytes(ledgers: Path, tmp_path: Path) -> None:
    """The same ledgers give the same decision parts, named by the same hash."""
    for n in range(5):
        rows = [row(1), row(2, concepts=["a"]), note(3, "memory_promoted", "seq:1"), close(4)]
        write_session(ledgers, f"t{n % 2}", f"s{n}", rows)
    found = []
    for name in ("one", "two"):
        derived = DerivedTables(tmp_path / name)
        _night(ledgers, derived)
        parts = sorted((tmp_path / name).glob("decisions/*.parquet"))
        found.append([(p.name, p.read_bytes()) for p in parts])
    assert found[0] == found[1] != []


def test_metadata_holds_counts_only(ledgers: Path, derived: DerivedTables) -> None:
    """No subject or session id reaches the event log."""
    write_session(ledgers, "t", "s", [row(1), row(2, "memory_event")])
    metadata = _night(ledgers, derived).to_metadata()
    assert metadata["effective_decisions"] == 2
    assert metadata["effective_clarifications"] == 1
    assert all(type(v) is int for v in metadata.values())


def test_only_asked_for_columns_are_read(ledgers: Path, derived: DerivedTables) -> None:
    """Counts need two columns; a filter is applied before the join."""
    write_session(ledgers, "t", "s", [row(1), row(2, "memory_event")])
    _night(ledgers, derived)
    sessions = derived.read(reading.GROUP, SESSIONS)
    found = current_decisions(derived, sessions, ["type"], pl.col("type") == "memory_event")
    assert found.to_dict(as_series=False) == {"type": ["memory_event"]}
