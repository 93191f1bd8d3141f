"""The deployment on a real PostgreSQL server: sensor, schedule, checks, and killed processes."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_assets.domain.checks import BLOCKING_CHECKS
from memory_assets.storage.home import Home
from tests.e2e.deployment import ROOT, Deployment
from tests.e2e.postgres import Postgres, running_postgres
from tests.e2e.processes import wait_for

pytestmark = pytest.mark.e2e

REPOSITORY = {
    "repositoryLocationName": "memory_assets",
    "repositoryName": "__repository__",
}


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    """The server of this module."""
    with running_postgres() as found:
        yield found


@pytest.fixture(scope="module")
def deployment(postgres: Postgres) -> Iterator[Deployment]:
    """Code server, webserver and daemon with the settings of ``deploy/``."""
    with tempfile.TemporaryDirectory(prefix="memory-assets-e2e-") as folder:
        config = ROOT / "deploy" / "postgres" / "dagster.yaml"
        environment = {**postgres.environment, "MEMORY_ASSETS_SCHEDULE": "* * * * *"}
        with Deployment(Path(folder), config, environment) as found:
            yield found


def _generation(deployment: Deployment) -> int:
    current = deployment.home / "CURRENT"
    return int(json.loads(current.read_bytes())["generation"]) if current.exists() else 0


def _runs(postgres: Postgres, tag: str, status: str) -> list[str]:
    """Runs with a tag of this name that have this status, oldest first."""
    query = (
        "SELECT r.run_id FROM runs r JOIN run_tags t ON t.run_id = r.run_id "
        "WHERE t.key = %s AND r.status = %s ORDER BY r.id"
    )
    return [run_id for (run_id,) in postgres.rows(query, tag, status)]


def _switch_sensor(deployment: Deployment, name: str) -> None:
    answer = deployment.query(
        "mutation($s: SensorSelector!) { startSensor(sensorSelector: $s) "
        "{ __typename ... on PythonError { message } } }",
        s={**REPOSITORY, "sensorName": name},
    )
    assert answer["startSensor"]["__typename"] == "Sensor", answer


def _switch_schedule(deployment: Deployment, name: str) -> None:
    answer = deployment.query(
        "mutation($s: ScheduleSelector!) { startSchedule(scheduleSelector: $s) "
        "{ __typename ... on PythonError { message } } }",
        s={**REPOSITORY, "scheduleName": name},
    )
    assert answer["startSchedule"]["__typename"] == "ScheduleStateResult", answer


def test_new_sessions_wake_the_sensor_and_are_published(
    deployment: Deployment, postgres: Postgres
) -> None:
    """Dropped ledgers become a published generation; run, checks and events lie in PostgreSQL."""
    _switch_sensor(deployment, "finished_sessions")
    deployment.drop("banca/2026-01-13-aum")
    deployment.drop("clinica/2026-01-12-ablazioni")
    (run_id, *_) = wait_for(
        lambda: _runs(postgres, "dagster/sensor_name", "SUCCESS"), seconds=120, what="a run"
    )
    assert _generation(deployment) == 1
    passed = postgres.rows(
        "SELECT check_name FROM asset_check_executions "
        "WHERE run_id = %s AND execution_status = 'SUCCEEDED'",
        run_id,
    )
    assert {check.__name__ for check in BLOCKING_CHECKS} <= {name for (name,) in passed}
    materialized = postgres.rows(
        "SELECT DISTINCT asset_key FROM event_logs "
        "WHERE run_id = %s AND dagster_event_type = 'ASSET_MATERIALIZATION'",
        run_id,
    )
    assert '["published_generation"]' in {key for (key,) in materialized}
    ticks = postgres.rows("SELECT count(*) FROM job_ticks WHERE type = 'SENSOR'")
    assert ticks[0][0] > 0
    assert any(deployment.ledgers.rglob("*.markers.jsonl"))


def test_a_killed_worker_does_not_stop_the_next_night(
    deployment: Deployment, postgres: Postgres
) -> None:
    """After SIGKILL amid a publication the slot is freed and the next night publishes it."""
    before = _generation(deployment)
    deployment.restart_code_server(MEMORY_ASSETS_FAILPOINT="publish.manifest-written")
    deployment.drop("banca/2026-01-15-fees")
    (killed, *_) = wait_for(
        lambda: _runs(postgres, "dagster/sensor_name", "FAILURE"), seconds=120, what="the kill"
    )
    assert _generation(deployment) == before
    died = postgres.rows(
        "SELECT count(*) FROM event_logs WHERE run_id = %s AND event LIKE %s",
        killed,
        "%SIGKILL%",
    )
    assert died[0][0] > 0
    deployment.restart_code_server()
    _switch_schedule(deployment, "nightly_schedule")
    nights = wait_for(
        lambda: _runs(postgres, "dagster/schedule_name", "SUCCESS"), seconds=180, what="a night"
    )
    assert killed not in nights
    assert _generation(deployment) == before + 1
    ticks = postgres.rows(
        "SELECT count(*) FROM job_ticks WHERE type = 'SCHEDULE' AND status = 'SUCCESS'"
    )
    assert ticks[0][0] > 0
    claimed = "SELECT count(*) FROM concurrency_slots WHERE run_id = %s"
    wait_for(lambda: postgres.rows(claimed, killed)[0][0] == 0, seconds=60, what="the pool slot")


def test_a_run_that_died_with_its_code_server_is_ended(
    deployment: Deployment, postgres: Postgres
) -> None:
    """Nobody is left to tell Dagster: the sensor finds the run by its lock, and nights go on."""
    home = Home(deployment.home)
    before = set(home.run_locks())
    (lost, *_) = wait_for(
        lambda: set(home.run_locks()) - before, seconds=120, what="a night", every=0.02
    )
    deployment.kill_code_server()
    status = "SELECT status FROM runs WHERE run_id = %s"
    assert postgres.rows(status, lost) == [("STARTED",)]
    deployment.restart_code_server()
    wait_for(
        lambda: postgres.rows(status, lost) == [("FAILURE",)], seconds=240, what="the end of it"
    )
    told = "SELECT count(*) FROM event_logs WHERE run_id = %s AND event LIKE %s"
    assert postgres.rows(told, lost, "%The process of this run was killed.%")[0][0] > 0
    wait_for(
        lambda: not {lost, *before} & set(home.run_locks()), seconds=90, what="the locks to go"
    )
    ended = len(_runs(postgres, "dagster/schedule_name", "SUCCESS"))
    wait_for(
        lambda: len(_runs(postgres, "dagster/schedule_name", "SUCCESS")) > ended,
        seconds=180,
        what="the next night",
    )
