"""Golden ledgers: what each session amounts to, written down by hand beside it.

``expected.json`` holds one entry per session below ``ledgers/``; what an entry does not mention
(endings, ignored rows, refused lines …) must not occur.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from memory_assets.domain.candidates import preview, session_schema_names
from memory_assets.domain.effective import effective_decisions
from memory_assets.domain.events import format_ref
from memory_assets.domain.keys import cited_memories
from memory_assets.domain.schemas import DECISIONS, QUARANTINE, SESSIONS
from memory_assets.pipeline.inspect.session_view import session_line
from memory_assets.steps.ledgers import decide as deciding
from memory_assets.steps.ledgers import ingest as reading
from memory_assets.storage.ledgers import read_ledger, scan_ledgers
from memory_assets.storage.parts import DerivedTables

HERE = Path(__file__).parent
LEDGERS = HERE / "ledgers"
EXPECTED: dict[str, dict[str, Any]] = json.loads((HERE / "expected.json").read_text("utf-8"))
LINE = ("closed", "in_force", "promoted", "declined", "to_review")
VERDICTS = ("promoted", "declined")


def _expected(session_id: str, key: str, default: Any) -> Any:
    return EXPECTED[session_id].get(key, default)


def test_every_golden_ledger_has_its_expectation() -> None:
    """A ledger without an entry, or an entry without a ledger, would test nothing."""
    assert sorted(EXPECTED) == [f.session_id for f in scan_ledgers(LEDGERS)]


@pytest.mark.parametrize("session_id", EXPECTED)
def test_replay_and_preview(session_id: str) -> None:
    """The pure functions give what is in force, what ended the rest, and what is offered."""
    (files,) = [f for f in scan_ledgers(LEDGERS) if f.session_id == session_id]
    names = {"tenant_id": "clinic", "session_id": session_id}
    ledger = read_ledger(files.ledger, **names, origin="ledger")
    companion = read_ledger(files.companion, **names, origin="companion")
    session = effective_decisions([*ledger.events, *companion.events])
    schema = session_schema_names(session)
    line = session_line(session, schema, "clinic", session_id)

    assert line == {**names} | {k: EXPECTED[session_id][k] for k in LINE}
    assert {
        format_ref(d.event.ref): f"{d.ended_reason} by {format_ref(d.ended_by)}"
        for d in session.decisions
        if d.ended_by is not None
    } == _expected(session_id, "ended", {})
    assert {
        format_ref(d.event.ref): format_ref(d.verdict_by or 0)
        for d in session.decisions
        if d.verdict is not None
    } == _expected(session_id, "verdict_by", {})
    assert sorted(f"{format_ref(i.event.ref)} {i.code}" for i in session.ignored) == _expected(
        session_id, "ignored", []
    )
    assert sorted(session.hidden_memories) == _expected(session_id, "hidden", [])
    assert (ledger.torn_tail is not None) == _expected(session_id, "torn", False)
    refused = {
        format_ref(r.decision.event.ref): r.code
        for r in preview(session, schema).refused
        if r.code not in ("not-in-force", "not-reusable", *VERDICTS)
    }
    assert refused == _expected(session_id, "refused", {})


@pytest.fixture(scope="module")
def derived(tmp_path_factory: pytest.TempPathFactory) -> DerivedTables:
    """The derived tables of all golden ledgers."""
    tables = DerivedTables(tmp_path_factory.mktemp("derived"))
    reading.ingest(LEDGERS, tables)
    deciding.decide(tables)
    return tables


@pytest.mark.parametrize("session_id", EXPECTED)
def test_the_tables_say_the_same(derived: DerivedTables, session_id: str) -> None:
    """What went through files, frames and Parquet is what the pure functions say."""
    mine = pl.col("session_id") == session_id
    watermark = derived.read(reading.GROUP, SESSIONS).filter(mine).row(0, named=True)
    torn = _expected(session_id, "torn", False)
    assert watermark["status"] == "ok"
    assert watermark["torn"] == torn
    assert watermark["closed"] == (EXPECTED[session_id]["closed"] and not torn)
    assert watermark["fail_closed"] == _expected(session_id, "fail_closed", False)
    refused = derived.read(reading.GROUP, QUARANTINE).filter(mine)
    assert watermark["quarantined"] == refused.height
    assert sorted(
        f"{r['origin']} {r['line']} {r['code']}" for r in refused.iter_rows(named=True)
    ) == _expected(session_id, "quarantined", [])

    decisions = derived.read(deciding.GROUP, DECISIONS).filter(mine).to_dicts()
    clarified = [d for d in decisions if d["type"] == "concept_clarified" and d["in_force"]]
    assert sorted(d["decision_seq"] for d in clarified) == EXPECTED[session_id]["in_force"]
    for verdict in VERDICTS:
        marked = sorted(d["decision_seq"] for d in clarified if d["verdict"] == verdict)
        assert marked == EXPECTED[session_id][verdict]
    offered = [d for d in decisions if d["refusal_code"] is None and d["verdict"] is None]
    assert sorted(d["decision_seq"] for d in offered) == EXPECTED[session_id]["to_review"]
    assert {
        format_ref(d["decision_seq"]): f"{d['ended_reason']} by {format_ref(d['ended_by'])}"
        for d in decisions
        if not d["in_force"]
    } == _expected(session_id, "ended", {})
    assert {
        format_ref(d["decision_seq"]): d["cites"] for d in decisions if d["cites"]
    } == _expected(session_id, "cites", {})


def test_citations_name_whole_ids_once() -> None:
    """Only ``mem-`` with four digits or more, as a word of its own, cites a memory."""
    text = "mem-0007, mem-12, xmem-0003, mem-00010, mem-0007; (mem-123456) mem-0009b"
    assert cited_memories(text) == ("mem-0007", "mem-00010", "mem-123456")
