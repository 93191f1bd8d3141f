"""``retrieval_evaluation`` as Dagster runs it: figures, charts, and a check that only warns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from memory_assets.defs.checks import REMEDY
from memory_assets.defs.resources import WorkspaceResource
from memory_assets.defs.search import (
    CHECK,
    JOB_NAME,
    evaluation_schedule,
    retrieval_evaluation,
    retrieval_quality,
)
from memory_assets.settings import load_settings
from tests.building import close, note, row
from tests.nights import EMBEDDING, World


@pytest.fixture(name="world")
def _world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """One definition that recurs, so that one question has a known answer."""
    world = World(tmp_path)
    world.tenants('[tenants.clinic]\nreview = "automatic"\n')
    content = {"subject": "Ablation", "detail": "by catheter"}
    for number, question in enumerate(("how many?", "ablations by year?")):
        world.session(
            "clinic", f"s{number}", row(1, question_context=question, **content), close(2)
        )
    world.night()
    for name, value in world.flags.items():
        monkeypatch.setenv(f"MEMORY_ASSETS_{name.upper()}", str(value))
    assert EMBEDDING in world.flags.values()
    return world


def _run() -> tuple[dict[str, Any], dg.AssetCheckEvaluation]:
    done = dg.materialize([retrieval_evaluation], resources={"workspace": WorkspaceResource()})
    assert done.success
    (event,) = done.get_asset_materialization_events()
    (check,) = done.get_asset_check_evaluations()
    return dict(event.materialization.metadata), check


def test_figures_table_and_charts_are_shown_without_naming_tenants(world: World) -> None:
    """The event log forgets nothing, so it is told counts, figures and languages only."""
    metadata, check = _run()
    assert metadata["questions"].value == 1
    assert metadata["hybrid_recall_at_10"].value == 1.0
    assert "| all | hybrid | 1 |" in metadata["figures"].value
    assert metadata["hybrid_recall_at_10_by_generation"].value.startswith("![recall@10, hybrid]")
    assert not [m for m in metadata.values() if "clinic" in str(m.value)]
    assert (check.passed, check.check_name) == (True, CHECK)


def test_a_fall_since_the_generation_before_warns(world: World) -> None:
    """The check fails as a warning, says what fell, and the run goes on."""
    assert _run()[1].passed
    for number in range(12):
        rival = row(1, subject=f"ablations by year {number}", detail=f"ablations by year {number}")
        accepted = note(2, "memory_promoted", "seq:1")
        world.session("clinic", f"rival{number}", rival, accepted, close(3))
    world.night()
    metadata, check = _run()
    assert metadata["hybrid_ndcg"].value < 0.9
    assert not check.passed
    assert check.severity == dg.AssetCheckSeverity.WARN
    assert "hybrid ndcg fell from 1.000" in str(check.description)
    remedy = str(check.metadata[REMEDY].value)
    assert "`memory-assets evaluate --all-tenants`" in remedy
    assert str(check.description).endswith(remedy)


def test_the_job_measures_alone(world: World) -> None:
    """Its only asset is the evaluation, and it runs without the assets that it reads."""
    defs = dg.Definitions(
        assets=[retrieval_evaluation],
        jobs=[retrieval_quality],
        resources={"workspace": WorkspaceResource(home=str(world.home))},
    )
    done = defs.resolve_job_def(JOB_NAME).execute_in_process()
    (event,) = done.get_asset_materialization_events()
    assert event.materialization.metadata["questions"].value == 1


def test_the_schedule_is_weekly_and_off() -> None:
    """Sundays after the merge, once somebody turns it on."""
    schedule = evaluation_schedule(load_settings(environment={}))
    assert schedule.cron_schedule == "0 6 * * 0"
    assert schedule.job_name == JOB_NAME
    assert schedule.default_status is dg.DefaultScheduleStatus.STOPPED
