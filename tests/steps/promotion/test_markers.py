"""Markers beside the ledgers: one companion that cannot be written stops no other."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from memory_assets.steps.promotion.markers import write_markers
from tests.building import close, row, write_session
from tests.nights import NOW


def _owed(*sessions: str, by: str = "reviewer anna") -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "tenant_id": "t",
                "session_id": session,
                "decision_seq": 1,
                "fact_no": 0,
                "memory_id": "mem-0001",
                "by": by,
                "wanted": "promoted",
                "last_seq": 2,
            }
            for session in sessions
        ]
    )


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
    done = write_markers(tmp_path, _owed(name, "z"), now=NOW)
    assert (done.owed, done.written) == (2, 1)
    assert [(tenant, session) for tenant, session, _ in done.failed] == [("t", name)]
    assert "too long" in done.failed[0][2]
    assert (tmp_path / "t" / "z.markers.jsonl").read_text().count("memory_promoted") == 1


def test_a_marker_is_one_that_the_next_night_accepts(tmp_path: Path) -> None:
    """Whatever an earlier version let into a reviewer's name: written once, and no more."""
    write_session(tmp_path, "t", "s", [row(1), close(2)])
    owed = _owed("s", by="reviewer ca\0rla")
    assert write_markers(tmp_path, owed, now=NOW).written == 1
    assert write_markers(tmp_path, owed, now=NOW).written == 0
