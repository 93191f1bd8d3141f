"""The home's own log of a night: every stage, bound to the run; sessions in need by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dagster as dg

from memory_assets.defs.assemble import defs
from memory_assets.pipeline.workspace import Workspace


def _lines(home: Path) -> list[dict[str, Any]]:
    files = sorted((home / "logs").glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_every_stage_of_a_night_is_one_line_of_counts(
    place: Path, instance: dg.DagsterInstance
) -> None:
    """The lines name the run that the Dagster UI shows, and hold no words of a memory."""
    result = defs.resolve_job_def("nightly_consolidation").execute_in_process(instance=instance)
    lines = _lines(place / "home")
    done = {line["event"] for line in lines}
    assert {f"{s}-done" for s in ("ingest", "decide", "candidates", "publish", "markers")} <= done
    assert {line["run_id"] for line in lines} == {result.run_id}
    text = json.dumps(lines, ensure_ascii=False)
    memories = Workspace.load().registry().memories
    assert memories.height
    assert not any(words in text for words in memories["detail"] if len(words) > 12)


def test_a_session_in_need_has_a_line_of_its_own(place: Path, instance: dg.DagsterInstance) -> None:
    """Whoever looks for a session's id finds the run, and what is wrong."""
    job = defs.resolve_job_def("nightly_consolidation")
    assert job.execute_in_process(instance=instance).success
    (place / "ledgers" / "banca" / "2026-01-15-fees.jsonl").unlink()
    result = job.execute_in_process(instance=instance)
    (line,) = [x for x in _lines(place / "home") if x.get("session_id") == "2026-01-15-fees"]
    assert (line["event"], line["level"]) == ("missing", "warning")
    assert (line["tenant_id"], line["run_id"]) == ("banca", result.run_id)
    assert "restore" in line["message"]
