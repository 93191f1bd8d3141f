"""The review queue in Dagster: figures and checks, no content, and the sensor for decisions."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest

from memory_assets.defs.assemble import defs
from memory_assets.defs.resources import WorkspaceResource
from memory_assets.defs.review import review_sensor
from memory_assets.pipeline.review.decide import ReviewDesk, Verdict
from memory_assets.pipeline.workspace import Workspace
from memory_assets.settings import load_settings
from memory_assets.steps.review.items import parse_items

ITEM = "clinica/2026-02-05-ablazioni-per-medico/seq:3"


def _night(instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    job = defs.resolve_job_def("nightly_consolidation")
    return job.execute_in_process(instance=instance)


def _checks(result: dg.ExecuteInProcessResult) -> dict[str, bool]:
    return {
        e.check_name: e.passed
        for e in result.get_asset_check_evaluations()
        if e.asset_key == dg.AssetKey("review_queue")
    }


def _decide(kind: str, *items: str) -> None:
    desk = ReviewDesk(Workspace.load(), "anna", now=datetime.now(UTC))
    done = desk.decide(parse_items(list(items)), Verdict(kind))  # type: ignore[arg-type]
    assert done.refused == ()
    path = Workspace.load().home.review_decisions
    os.utime(path, (path.stat().st_mtime - 3600,) * 2)


def test_the_backlog_is_measured_and_old_items_are_warned_about(
    place: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts, age and a chart; the check warns past the limit and never blocks."""
    result = _night(instance)
    assert _checks(result) == {"backlog_is_looked_at": False, "review_lines_count": True}
    (event,) = result.asset_materializations_for_node("review_queue")
    waiting = event.metadata["waiting"].value
    assert isinstance(waiting, int)
    assert waiting > 10
    assert event.metadata["label_refines"].value == 1
    monkeypatch.setenv("MEMORY_ASSETS_REVIEW_WARN_DAYS", "36500")
    assert _checks(_night(instance))["backlog_is_looked_at"]


def test_a_bad_line_is_warned_about(place: Path, instance: dg.DagsterInstance) -> None:
    """The rest of the file is applied all the same."""
    path = Workspace.load().home.review_decisions
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"{oops}\n")
    assert not _checks(_night(instance))["review_lines_count"]


def _tick(instance: dg.DagsterInstance, cursor: str | None) -> dg.SensorResult | dg.SkipReason:
    with dg.build_sensor_context(
        instance=instance, cursor=cursor, resources={"workspace": WorkspaceResource()}
    ) as context:
        found = review_sensor(load_settings())(context)
    assert isinstance(found, dg.SensorResult | dg.SkipReason)
    return found


def test_decisions_that_arrive_start_one_run(place: Path, instance: dg.DagsterInstance) -> None:
    """Accepts and declines ask for a run once; when they are published there is nothing to ask."""
    assert isinstance(_tick(instance, None), dg.SkipReason)
    _night(instance)
    _decide("accept", ITEM)
    _decide("decline", "clinica/2026-02-05-ablazioni-per-medico/seq:8")
    asked = _tick(instance, None)
    assert isinstance(asked, dg.SensorResult)
    assert asked.run_requests is not None
    assert [r.tags["memory_assets/review_decisions"] for r in asked.run_requests] == ["2"]
    again = _tick(instance, asked.cursor)
    assert isinstance(again, dg.SkipReason)
    assert "still wait" in (again.skip_message or "")
    _night(instance)
    done = _tick(instance, asked.cursor)
    assert isinstance(done, dg.SkipReason)
    assert "published" in (done.skip_message or "")


def test_a_deferred_item_starts_nothing(place: Path, instance: dg.DagsterInstance) -> None:
    """Putting something off changes nothing that a run could publish."""
    _night(instance)
    _decide("defer", ITEM)
    assert isinstance(_tick(instance, None), dg.SkipReason)


def test_a_reviewer_at_work_is_not_interrupted(place: Path, instance: dg.DagsterInstance) -> None:
    """While lines are being written the sensor waits for half a minute of quiet."""
    _night(instance)
    _decide("accept", ITEM)
    os.utime(Workspace.load().home.review_decisions)
    found = _tick(instance, None)
    assert isinstance(found, dg.SkipReason)
    assert "at work" in (found.skip_message or "")


def test_the_queue_carries_no_content_into_the_event_log(
    place: Path, instance: dg.DagsterInstance
) -> None:
    """Metadata of the asset and of its checks is figures and names of labels."""
    result = _night(instance)
    words = Workspace.load().assess(now=datetime.now(UTC)).candidates
    (event,) = result.asset_materializations_for_node("review_queue")
    text = json.dumps({k: str(v.value) for k, v in event.metadata.items()}, ensure_ascii=False)
    assert not [s for s in words["detail"] if s in text]
