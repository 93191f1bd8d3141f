"""Reading night by night gives what reading everything at once gives."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memory_assets.domain.schemas import SESSIONS
from memory_assets.steps.ledgers import ingest as reading
from memory_assets.steps.ledgers.decide import current_decisions, decide
from memory_assets.storage.parts import DerivedTables
from tests.building import write_session
from tests.properties.test_replay import Rows, sessions


def _outcome(derived: DerivedTables) -> tuple[list[Any], list[Any]]:
    """Watermarks and decisions, without the number and time of the reading."""
    watermarks = derived.read(reading.GROUP, SESSIONS)
    decisions = current_decisions(derived, watermarks).drop("ingest_no")
    order = ["tenant_id", "session_id", "decision_seq"]
    plain = watermarks.drop("ingest_no", "ledger_stat", "companion_stat")
    return plain.to_dicts(), decisions.sort(order).to_dicts()


@settings(max_examples=12)
@given(
    st.lists(
        st.tuples(sessions(), st.lists(st.integers(0, 16), min_size=2, max_size=2).map(sorted)),
        min_size=1,
        max_size=3,
    )
)
def test_growing_night_by_night_gives_the_same_decisions(
    found: list[tuple[Rows, list[int]]],
) -> None:
    """In the first two nights part of each file is there, in the last one all of it."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        grown = DerivedTables(root / "grown")
        for night in range(3):
            for n, (rows, cuts) in enumerate(found):
                ledger = rows.ledger[: [*cuts, None][night]]
                companion = [r for r in rows.companion if r["after_seq"] <= len(ledger)]
                write_session(root / "ledgers", "t", f"s{n}", ledger, companion)
            assert reading.ingest(root / "ledgers", grown).problems == ()
            decide(grown)
        whole = DerivedTables(root / "whole")
        reading.ingest(root / "ledgers", whole)
        decide(whole)
        assert _outcome(grown) == _outcome(whole)
