"""The merge as assets: the weekly job on a real home."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from memory_assets.defs.checks import what_and_remedy
from memory_assets.defs.merge import (
    ASSETS,
    JOB_NAME,
    duplicate_pairs,
    global_semantic_merge,
    merge_schedule,
    new_duplicates,
)
from memory_assets.defs.resources import WorkspaceResource
from memory_assets.settings import load_settings
from tests.merging import TENANT, MergeWorld

PAIR = [
    ("Late order", "An order with flag_late = TRUE that lasts more than 24 hours"),
    ("Late order", "Order with flag_late = TRUE and that lasts over 24 hours"),
]


@pytest.fixture
def world(tmp_path: Path) -> MergeWorld:
    """A home with two definitions that say the same."""
    made = MergeWorld(tmp_path)
    made.add(PAIR)
    return made


def counts(result: dg.ExecuteInProcessResult, asset: str) -> dict[str, object]:
    """The metadata of one materialization."""
    (found,) = result.asset_materializations_for_node(asset)
    return {k: v.value for k, v in found.metadata.items()}


def run(world: MergeWorld) -> dg.ExecuteInProcessResult:
    """The weekly job."""
    definitions = dg.Definitions(
        assets=[*ASSETS, dg.AssetSpec("published_generation")],
        jobs=[global_semantic_merge],
        resources={"workspace": WorkspaceResource(home=str(world.home))},
        executor=dg.in_process_executor,
    )
    return definitions.resolve_job_def(JOB_NAME).execute_in_process()


def test_the_job_compares_everything_and_proposes(world: MergeWorld) -> None:
    """All four assets, with counts and without content."""
    result = run(world)
    assert result.success
    pairs = counts(result, "duplicate_pairs")
    assert (pairs["full"], pairs["compared"], pairs["dagster/row_count"]) == (True, 2, 1)
    assert counts(result, "merge_proposals")["groups_to_review"] == 1
    assert counts(result, "merge_calibration")["tenants_with_automatic_merge"] == 0
    assert counts(result, "supersessions")["asked_for"] == 0
    assert "flag_late" not in str(result.all_events)


def test_the_job_can_be_repeated(world: MergeWorld) -> None:
    """The second run finds the same and changes nothing."""
    first, second = run(world), run(world)
    for asset in ("merge_proposals", "supersessions"):
        left, right = counts(first, asset), counts(second, asset)
        assert left == right
    assert set(world.status(TENANT).values()) == {"active"}


def test_alone_the_search_takes_only_what_is_new(world: MergeWorld) -> None:
    """Materialized by hand, without a config, the asset does the nightly step."""
    result = dg.materialize(
        [duplicate_pairs, dg.AssetSpec("published_generation")],
        resources={"workspace": WorkspaceResource(home=str(world.home))},
    )
    assert result.success
    again = dg.materialize(
        [duplicate_pairs, dg.AssetSpec("published_generation")],
        resources={"workspace": WorkspaceResource(home=str(world.home))},
    )
    assert counts(again, "duplicate_pairs")["compared"] == 0


def test_the_schedule_is_weekly_and_off() -> None:
    """Sundays after the night, once somebody turns it on."""
    schedule = merge_schedule(load_settings(environment={}))
    assert schedule.cron_schedule == "0 5 * * 0"
    assert schedule.job_name == JOB_NAME
    assert schedule.default_status is dg.DefaultScheduleStatus.STOPPED


def _tonight(world: MergeWorld) -> dg.ExecuteInProcessResult:
    return dg.materialize(
        [new_duplicates, dg.AssetSpec("published_generation")],
        resources={"workspace": WorkspaceResource(home=str(world.home))},
    )


def test_the_nightly_step_proposes_and_is_idle_afterwards(world: MergeWorld) -> None:
    """New memories are compared once; the second run finds nothing to do."""
    first = counts(_tonight(world), "new_duplicates")
    assert (first["compared"], first["groups"], first["problem"]) == (2, 1, "")
    assert counts(_tonight(world), "new_duplicates")["idle"] is True


def test_a_failure_of_the_nightly_step_is_a_warning(world: MergeWorld) -> None:
    """Unreadable tables of the merge fail a check of severity WARN, and not the run."""
    folder = world.home / "merge"
    folder.mkdir(exist_ok=True)
    (folder / "duplicate_pairs.json").write_text("{torn")
    result = _tonight(world)
    assert result.success
    (check,) = result.get_asset_check_evaluations()
    assert (check.passed, check.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert "duplicate_pairs.json" in str(counts(result, "new_duplicates")["problem"])
    what, remedy = what_and_remedy(check)
    assert what.endswith(f"Where: {folder / 'duplicate_pairs.json'}.")
    assert remedy.startswith("these tables hold nothing of their own: delete the folder")
