"""The drift check, the repair and the cleanup as Dagster runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from memory_assets.defs.resources import WorkspaceResource
from memory_assets.defs.upkeep import (
    index_has_not_drifted,
    legacy_cleanup_job,
    repair_index_job,
)
from memory_assets.pipeline.exchange.legacy_import import import_registry, plan_import
from memory_assets.pipeline.upkeep import upkeep
from memory_assets.pipeline.workspace import Workspace
from tests.building import close, row
from tests.nights import World

ROW = {"ts": "2025-11-05T09:00:00Z", "detail": "d"}


def published(place: Path) -> Workspace:
    """A home with one memory, in which a table record was imported for another tenant."""
    world = World(place)
    world.tenants("[tenants.bank]\nreview = 'automatic'\n[tenants.old]\n")
    world.session("bank", "s1", row(1), close(2))
    world.night()
    file = place / "registry.jsonl"
    record = {**ROW, "id": "mem-0001", "type": "table_promoted", "subject": "dim_time"}
    file.write_text(json.dumps(record))
    plan = plan_import(world.workspace, file, tenant_id="old", by="reviewer anna", now=world.now)
    import_registry(world.workspace, plan, now=world.now)
    return world.workspace


def check() -> dg.AssetCheckResult:
    """The drift check, run once."""
    found = index_has_not_drifted(WorkspaceResource())
    assert isinstance(found, dg.AssetCheckResult)
    return found


def run(job: dg.JobDefinition, instance: dg.DagsterInstance, **config: Any) -> dict[str, Any]:
    """The output metadata of a job of one op."""
    done = job.execute_in_process(
        instance=instance, resources={"workspace": WorkspaceResource()}, run_config=config or None
    )
    assert done.success
    (event,) = [e for e in done.all_events if e.is_successful_output]
    return {k: v.value for k, v in event.step_output_data.metadata.items()}


def test_drift_is_found_and_mended(place: Path, instance: dg.DagsterInstance) -> None:
    """The check warns with the command; after the job it passes."""
    import lancedb

    workspace = published(place)
    assert check().passed
    name = next(workspace.home.index.glob("*.lance")).stem
    lancedb.connect(str(workspace.home.index)).open_table(name).delete("true")
    found = check()
    assert (found.passed, found.metadata["missing"].value) == (False, 1)
    assert "1 missing. What to do: run `memory-assets repair-index`" in str(found.description)
    assert run(repair_index_job, instance)["clean"] is True
    assert check().passed


def test_an_index_that_cannot_be_mended_is_a_named_error(
    place: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The failure carries the code that the runbook knows, the place, and what to do."""
    workspace = published(place)
    clean = upkeep.drift_of(workspace)
    drifted = replace(
        clean, spaces=tuple(replace(s, missing=("bank/mem-0001",)) for s in clean.spaces)
    )
    monkeypatch.setattr(upkeep, "drift_of", lambda _: drifted)
    done = repair_index_job.execute_in_process(
        instance=instance, resources={"workspace": WorkspaceResource()}, raise_on_error=False
    )
    (failed,) = [e.step_failure_data for e in done.all_events if e.is_step_failure]
    assert failed.user_failure_data is not None
    told = {k: str(v.value) for k, v in failed.user_failure_data.metadata.items()}
    assert (told["error"], told["where"]) == ("index-mismatch", str(workspace.home.index))
    assert "`memory-assets reindex`" in told["remedy"]


def test_a_cleanup_removes_only_when_told(place: Path, instance: dg.DagsterInstance) -> None:
    """The first run shows the plan; with ``apply`` the record is gone and a receipt is there."""
    workspace = published(place)
    planned = run(legacy_cleanup_job, instance)
    assert (planned["records"], planned["applied"]) == (1, False)
    assert workspace.registry().memories.height == 2
    config = {"ops": {"remove_legacy": {"config": {"apply": True, "by": "reviewer anna"}}}}
    done = run(legacy_cleanup_job, instance, **config)
    assert done["applied"] is True
    assert [Path(p).is_file() for p in done["receipts"]] == [True]
    assert workspace.registry().memories.height == 1
