"""The log of an installation: JSON lines that name their run and session."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from memory_assets.storage.run_log import RunLog

NOW = datetime(2026, 3, 31, 23, 59, tzinfo=UTC)


def test_each_line_names_run_and_session(tmp_path: Path) -> None:
    """A line about a session can be found by its id, and by the run that wrote it."""
    log = RunLog(tmp_path / "logs", "run-1")
    log.write("ingest-done", now=NOW, fields={"sessions": 2})
    log.write("missing", now=NOW, level="warning", session=("bank", "s1"))
    written = (tmp_path / "logs" / "2026-03.jsonl").read_text()
    rows = [json.loads(line) for line in written.splitlines()]
    assert rows[0] == {
        "ts": "2026-03-31T23:59:00.000+00:00",
        "level": "info",
        "event": "ingest-done",
        "run_id": "run-1",
        "sessions": 2,
    }
    assert (rows[1]["tenant_id"], rows[1]["session_id"]) == ("bank", "s1")


def test_a_month_has_a_file_of_its_own(tmp_path: Path) -> None:
    """Old logs can be removed by the month, while the newest is being written."""
    log = RunLog(tmp_path, "run-1")
    log.write("a", now=NOW)
    log.write("b", now=datetime(2026, 4, 1, tzinfo=UTC))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["2026-03.jsonl", "2026-04.jsonl"]
