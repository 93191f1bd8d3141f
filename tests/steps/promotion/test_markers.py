"""Markers beside the ledgers: one companion that cannot be written stops no other."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from memory_assets.steps.promotion.markers import write_markers
from tests.building import close, row, write_session
from tests.nights import NOW


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("x" * 300, id="the ledger cannot be looked for"),
        pytest.param("x" * 245, id="the companion cannot be looked for"),
    ],
)
def test_what_the_system_refuses_is_listed_and_stops_no_other(tmp_path: Path, name: str) -> None:
    """The session that cannot be reached is owed its marker, the next one has its own."""
    for session in (name, "z")[len(name) > 255 :]:
        write_session(tmp_path, "t", session, [row(1), close(2)])
    owed = pl.DataFrame(
        [
            {
                "tenant_id": "t",
                "session_id": session,
                "decision_seq": 1,
                "fact_no": 0,
                "memory_id": "mem-0001",
                "by": "reviewer anna",
                "wanted": "promoted",
                "last_seq": 2,
            }
            for session in (name, "z")
        ]
    )
    done = write_markers(tmp_path, owed, now=NOW)
    assert (done.owed, done.written) == (2, 1)
    assert [(tenant, session) for tenant, session, _ in done.failed] == [("t", name)]
    assert "too long" in done.failed[0][2]
    assert (tmp_path / "t" / "z.markers.jsonl").read_text().count("memory_promoted") == 1
