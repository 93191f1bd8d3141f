"""A session's line; and what 2,500 real sessions amount to, where the data set is at hand."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from memory_assets.domain.candidates import session_schema_names
from memory_assets.domain.schemas import SESSIONS
from memory_assets.pipeline.inspect.session_view import session_line
from memory_assets.steps.ledgers import ingest as reading
from memory_assets.steps.ledgers.decide import current_decisions, decide, replay_events
from memory_assets.steps.ledgers.ingest import IngestResult, current_events, ingest
from memory_assets.storage.parts import DerivedTables
from tests.building import close, note, replay, row

BESIDE = Path(__file__).resolve().parents[4] / "shared" / "data"
LEDGERS = Path(os.environ.get("MEMORY_ASSETS_TEST_DATA", BESIDE)) / "bird_ledgers"
TRUTH = LEDGERS / "truth.jsonl"

needs_data = pytest.mark.skipif(
    not TRUTH.is_file(),
    reason="no bird_ledgers/truth.jsonl: set MEMORY_ASSETS_TEST_DATA to the data folder, or put it "
    "at ../shared/data beside the checkout",
)
Line = dict[str, Any]


@pytest.fixture(scope="module", name="truth")
def _truth() -> dict[tuple[str, str], Line]:
    lines = [json.loads(line) for line in TRUTH.read_text("utf-8").splitlines()]
    return {(t["tenant_id"], t["session_id"]): t for t in lines}


@pytest.fixture(scope="module", name="night")
def _night(tmp_path_factory: pytest.TempPathFactory) -> tuple[DerivedTables, IngestResult]:
    derived = DerivedTables(tmp_path_factory.mktemp("derived"))
    result = ingest(LEDGERS, derived)
    decide(derived)
    return derived, result


def test_a_line_holds_what_a_reviewer_needs() -> None:
    """Refs of what holds, of each verdict, and of what is still offered, companion rows as -N."""
    session = replay(
        [row(1), row(2), row(3), row(4, subject="dim_time"), row(5, subject="t"), close(6)],
        [
            note(1, "memory_promoted", "seq:1", after_seq=6),
            note(2, "memory_promotion_declined", "seq:2", after_seq=6),
            note(3, "decision_withdrawn", "seq:5", after_seq=6),
            row(4, after_seq=6),
        ],
    )
    assert session_line(session, session_schema_names(session), "clinic", "s1") == {
        "tenant_id": "clinic",
        "session_id": "s1",
        "closed": True,
        "in_force": [1, 2, 3, 4, -4],
        "promoted": [1],
        "declined": [2],
        "to_review": [-4, 3],
    }


@needs_data
def test_the_ledgers_are_sound(
    night: tuple[DerivedTables, IngestResult], truth: dict[tuple[str, str], Line]
) -> None:
    """No line is refused, no session blocked, and none is missing."""
    _, result = night
    assert (result.quarantined, result.fail_closed, result.problems) == (0, 0, ())
    assert result.sessions == len(truth)
    assert result.open_sessions == sum(not t["closed"] for t in truth.values()) > 0


@needs_data
def test_every_session_amounts_to_its_truth(
    night: tuple[DerivedTables, IngestResult], truth: dict[tuple[str, str], Line]
) -> None:
    """In force, promoted, declined and to review, each by itself."""
    derived, _ = night
    events = current_events(derived, derived.read(reading.GROUP, SESSIONS))
    found = {
        (tenant, session_id): session_line(
            session, session_schema_names(session), tenant, session_id
        )
        for tenant, session_id, _, session in replay_events(events)
    }
    wrong = [(found[key], line) for key, line in truth.items() if found[key] != line]
    assert wrong == []
    assert found.keys() == truth.keys()


@needs_data
def test_the_decisions_table_says_the_same(
    night: tuple[DerivedTables, IngestResult], truth: dict[tuple[str, str], Line]
) -> None:
    """The columns that consolidation reads give the same lists as the replay."""
    derived, _ = night
    decisions = current_decisions(derived, derived.read(reading.GROUP, SESSIONS)).filter(
        "in_force", type="concept_clarified"
    )
    key = ["tenant_id", "session_id"]

    def refs(where: pl.Expr) -> dict[tuple[str, str], list[int]]:
        rows = decisions.filter(where).sort(*key, "decision_seq")
        grouped = rows.group_by(key).agg("decision_seq")
        return {(t, s): seqs for t, s, seqs in grouped.iter_rows()}

    waits = pl.col("verdict").is_null() & pl.col("refusal_code").is_null()
    for name, where in (
        ("in_force", pl.lit(True)),
        ("promoted", pl.col("verdict") == "promoted"),
        ("declined", pl.col("verdict") == "declined"),
        ("to_review", waits),
    ):
        assert refs(where) == {k: t[name] for k, t in truth.items() if t[name]}


@needs_data
def test_a_second_night_reads_nothing(night: tuple[DerivedTables, IngestResult]) -> None:
    """The same folder again: no file is opened, no row is new, no session replayed."""
    derived, first = night
    again = ingest(LEDGERS, derived)
    assert (again.read, again.new_events, again.events) == (0, 0, first.events)
    assert decide(derived).decided == 0
