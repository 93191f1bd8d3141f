"""The nightly job, its sensors and its schedule, on the sample ledgers."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import dagster as dg
import pytest

from memory_assets.defs.assemble import defs
from memory_assets.defs.nightly import nightly_schedule, session_sensor
from memory_assets.defs.resources import WorkspaceResource
from memory_assets.domain.checks import BLOCKING_CHECKS
from memory_assets.pipeline.workspace import Workspace
from memory_assets.settings import load_settings


def _night(instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    job = defs.resolve_job_def("nightly_consolidation")
    return job.execute_in_process(instance=instance, raise_on_error=False)


def _tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def _unpacked(text: str) -> str:
    """The text with its inline images in clear."""
    packed = re.findall(r"base64,([A-Za-z0-9+/=]+)", text)
    return text + "".join(base64.b64decode(image).decode() for image in packed)


def test_a_night_publishes_and_a_second_one_changes_nothing(
    place: Path, instance: dg.DagsterInstance
) -> None:
    """The second night of unchanged ledgers leaves registry and index byte for byte alike."""
    assert _night(instance).success
    published = {
        name: _tree(place / "home" / name) for name in ("registry", "index", "generations")
    }
    current = (place / "home" / "CURRENT").read_bytes()
    assert json.loads(current)["generation"] == 1
    assert _night(instance).success
    assert (place / "home" / "CURRENT").read_bytes() == current
    for name, tree in published.items():
        assert _tree(place / "home" / name) == tree


def test_every_blocking_check_is_reported(place: Path, instance: dg.DagsterInstance) -> None:
    """Each check that guards publication shows up as a passed check in the UI."""
    result = _night(instance)
    passed = {e.check_name for e in result.get_asset_check_evaluations() if e.passed}
    assert {c.__name__ for c in BLOCKING_CHECKS} <= passed


def test_metadata_carries_counts_and_no_content(place: Path, instance: dg.DagsterInstance) -> None:
    """The event log knows no tenants and cannot forget, so no memory's words may enter it."""
    result = _night(instance)
    words = {m["detail"] for m in Workspace.load().registry().memories.iter_rows(named=True)} | {
        m["subject"] for m in Workspace.load().registry().memories.iter_rows(named=True)
    }
    assert words
    for event in result.all_events:
        text = _unpacked(json.dumps(repr(event), ensure_ascii=False))
        assert not any(w in text for w in words if len(w) > 12)


def test_the_publishing_assets_cannot_run_in_part(place: Path) -> None:
    """A stage that can be materialized alone could publish after its blocking check failed."""
    publication = next(
        a for a in defs.get_repository_def().asset_graph.assets_defs if len(a.keys) > 1
    )
    assert not publication.can_subset
    assert {k.to_user_string() for k in publication.keys} == {
        "memory_registry",
        "memory_embeddings",
        "memory_index",
        "published_generation",
    }


def test_a_failed_check_publishes_nothing_and_is_named(
    place: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CURRENT stays as it was, the check is reported as failed, and the run fails."""
    from memory_assets.domain import checks

    def refuses(staged: checks.Staged) -> checks.CheckResult:
        return checks.CheckResult("ids_unique", passed=False, rows=1, message="refused on purpose")

    monkeypatch.setattr(checks, "BLOCKING_CHECKS", (refuses, *checks.BLOCKING_CHECKS[1:]))
    result = _night(instance)
    assert not result.success
    failed = [e.check_name for e in result.get_asset_check_evaluations() if not e.passed]
    assert failed == ["ids_unique"]
    assert Workspace.load().generations.current()[0].number == 0


def test_every_asset_alone_can_be_materialized_again(
    place: Path, instance: dg.DagsterInstance
) -> None:
    """From the UI any asset may be run by itself, in any order, and again."""
    assert _night(instance).success
    current = (place / "home" / "CURRENT").read_bytes()
    graph = defs.get_repository_def().asset_graph
    for one in graph.assets_defs:
        if one.is_executable and not one.check_keys >= one.keys:
            assert dg.materialize(
                [one],
                instance=instance,
                selection=dg.AssetSelection.assets(*one.keys),
            ).success
    assert (place / "home" / "CURRENT").read_bytes() == current


def test_the_sensor_asks_once_for_waiting_sessions(
    place: Path, instance: dg.DagsterInstance
) -> None:
    """New finished sessions start one run; our own companion files never start another."""
    sensor = session_sensor(load_settings())

    def tick(cursor: str | None) -> dg.SensorResult | dg.SkipReason:
        with dg.build_sensor_context(
            instance=instance, cursor=cursor, resources={"workspace": WorkspaceResource()}
        ) as context:
            found = sensor(context)
        assert isinstance(found, dg.SensorResult | dg.SkipReason)
        return found

    first = tick(None)
    assert isinstance(first, dg.SensorResult)
    assert first.run_requests is not None
    assert len(first.run_requests) == 1
    assert isinstance(tick(first.cursor), dg.SkipReason)
    assert _night(instance).success
    assert any((place / "ledgers").rglob("*.markers.jsonl"))
    assert isinstance(tick(None), dg.SkipReason)


def test_the_schedule_follows_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cron and time zone come from the settings; the default lies outside the hour of DST."""
    monkeypatch.setenv("MEMORY_ASSETS_TIME_ZONE", "Europe/Rome")
    schedule = nightly_schedule(load_settings())
    assert schedule.cron_schedule == "30 3 * * *"
    assert schedule.execution_timezone == "Europe/Rome"


def test_a_named_error_reaches_the_run_with_its_remedy(
    place: Path, instance: dg.DagsterInstance
) -> None:
    """A failed step says what happened, where, and what to do next."""
    assert _night(instance).success
    (place / "home" / "CURRENT").unlink()
    result = _night(instance)
    assert not result.success
    failures = [e for e in result.all_events if e.is_step_failure]
    metadata = [e.step_failure_data.user_failure_data for e in failures]
    codes = {m.metadata["error"].value for m in metadata if m is not None}
    assert codes == {"current-missing"}
