"""A backfill through the run configuration, as an operator types it into the launchpad."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from memory_assets.defs.assemble import defs
from memory_assets.pipeline.workspace import Workspace


def _night(instance: dg.DagsterInstance, **chosen: object) -> dg.ExecuteInProcessResult:
    job = defs.resolve_job_def("nightly_consolidation")
    return job.execute_in_process(
        instance=instance,
        run_config={"ops": {"ledger_events": {"config": chosen}}},
        raise_on_error=False,
    )


def _count(result: dg.ExecuteInProcessResult, name: str) -> object:
    (made,) = result.asset_materializations_for_node("ledger_events")
    return made.metadata[name].value


def test_a_tenant_is_taken_in_alone_and_the_rest_later(
    place: Path, instance: dg.DagsterInstance
) -> None:
    """Chosen by tenant, then by day, then all: each piece publishes what it took in."""
    first = _night(instance, tenants=["banca"], until="2026-01-31")
    assert first.success
    assert set(Workspace.load().registry().memories["tenant_id"]) == {"banca"}
    assert _count(first, "sessions_read") == 5
    assert _count(first, "sessions_not_chosen") == 12
    last = _night(instance)
    assert last.success
    assert _count(last, "sessions_read") == 12
    assert _count(last, "sessions_not_chosen") == 0


@pytest.mark.parametrize(
    ("chosen", "named"),
    [
        ({"tenants": ["banca", "bnaca"]}, "tenant 'bnaca' has no ledgers"),
        ({"sessions": ["clinica/2026-01-12"]}, "there is no session 'clinica/2026-01-12'"),
        ({"tenants": ["banca"], "sessions": ["clinica/x"]}, "of none of the chosen tenants"),
    ],
)
def test_a_selection_of_what_is_not_there_takes_nothing_and_says_so(
    place: Path, instance: dg.DagsterInstance, chosen: dict[str, list[str]], named: str
) -> None:
    """A backfill of a misspelt tenant or session is no success with nothing in it."""
    result = _night(instance, **chosen)
    assert not result.success
    assert not Workspace.load().derived.info("ledger_events")
    (event,) = [e for e in result.all_events if e.is_step_failure]
    failure = event.step_failure_data.user_failure_data
    assert failure is not None
    assert named in str(failure.metadata["what"].value)


def test_a_selection_that_cannot_be_meant_fails_with_its_problems(
    place: Path, instance: dg.DagsterInstance
) -> None:
    """Nothing is read for a day that does not exist."""
    result = _night(instance, since="2026-02-30")
    assert not result.success
    (event,) = [e for e in result.all_events if e.is_step_failure]
    failure = event.step_failure_data.user_failure_data
    assert failure is not None
    assert failure.metadata["error"].value == "usage"
    assert "2026-02-30" in str(failure.metadata["what"].value)
