"""Alerts of failed runs and failed checks, posted to a real HTTP server on loopback."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pytest

from memory_assets.defs.alerts import deliver, failed_checks, failed_runs, undelivered_alerts
from memory_assets.defs.assemble import defs
from memory_assets.defs.resources import WorkspaceResource
from memory_assets.domain import checks
from memory_assets.domain.alerts import Alert, Reason
from memory_assets.pipeline.workspace import Workspace


@dataclass
class Webhook:
    """A server that keeps what it was posted, and answers as it is told."""

    url: str = ""
    answers: list[int] = field(default_factory=list)
    """Status codes of the next answers; 200 once they are used up."""
    posted: list[dict[str, Any]] = field(default_factory=list)


@pytest.fixture
def webhook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Webhook]:
    """A webhook on loopback that the setting names."""
    found = Webhook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["Content-Length"])
            found.posted.append(json.loads(self.rfile.read(size)))
            self.send_response(found.answers.pop(0) if found.answers else 200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    found.url = f"http://127.0.0.1:{server.server_port}/hook"
    monkeypatch.setenv("MEMORY_ASSETS_ALERT_WEBHOOK", found.url)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    yield found
    server.shutdown()
    server.server_close()
    thread.join()


def _night(instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    job = defs.resolve_job_def("nightly_consolidation")
    return job.execute_in_process(instance=instance, raise_on_error=False)


def _context(instance: dg.DagsterInstance, result: dg.ExecuteInProcessResult) -> Any:
    kinds = {dg.DagsterEventType.RUN_FAILURE, dg.DagsterEventType.RUN_SUCCESS}
    event = next(e for e in result.all_events if e.event_type in kinds)
    return dg.build_run_status_sensor_context(
        sensor_name="test",
        dagster_event=event,
        dagster_instance=instance,
        dagster_run=result.dagster_run,
        resources={"workspace": WorkspaceResource()},
    )


def _tell_failure(instance: dg.DagsterInstance, result: dg.ExecuteInProcessResult) -> None:
    with _context(instance, result) as context, context.for_run_failure() as failed:
        failed_runs(failed)


def _tell_checks(instance: dg.DagsterInstance, result: dg.ExecuteInProcessResult) -> None:
    with _context(instance, result) as context:
        failed_checks(context)


def test_a_failed_run_is_told_with_its_error_and_remedy(
    place: Path, instance: dg.DagsterInstance, webhook: Webhook
) -> None:
    """The webhook learns the run, the step, the error's code, and what to do."""
    Workspace.load().home.ensure()
    (place / "home" / "CURRENT").write_text("nonsense")
    result = _night(instance)
    assert not result.success
    _tell_failure(instance, result)
    (alert,) = webhook.posted
    assert alert["kind"] == "run-failed"
    assert alert["run_id"] == result.run_id
    assert "corrupt-store" in {reason["code"] for reason in alert["reasons"]}
    failed = [reason for reason in alert["reasons"] if reason["code"] != "check-failed"]
    assert all(reason["remedy"] for reason in failed)
    assert "What to do:" in alert["text"]


def test_a_run_that_the_system_stopped_is_told_in_words(
    place: Path, instance: dg.DagsterInstance, webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGTERM during a step is no class of Dagster's, but a process that was told to stop."""

    def told_to_stop(opened: Workspace, **_: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(30)

    monkeypatch.setattr(Workspace, "ingest", told_to_stop)
    result = _night(instance)
    assert not result.success
    _tell_failure(instance, result)
    (alert,) = webhook.posted
    (reason,) = alert["reasons"]
    assert (reason["name"], reason["code"]) == ("ledger_events", "interrupted")
    assert "told to stop" in reason["what"]
    assert "goes on from here" in reason["remedy"]


def test_checks_that_did_not_pass_are_told_with_their_sessions(
    place: Path, instance: dg.DagsterInstance, webhook: Webhook
) -> None:
    """A session that broke the append-only rule is named, though the night itself went well."""
    assert _night(instance).success
    ledger = place / "ledgers" / "banca" / "2026-01-15-fees.jsonl"
    ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[1:]))
    result = _night(instance)
    assert result.success
    _tell_checks(instance, result)
    (alert,) = webhook.posted
    assert alert["kind"] == "check-failed"
    blocked = next(r for r in alert["reasons"] if r["name"] == "ledger_events.no_blocked_sessions")
    assert blocked["sessions"] == ["banca/2026-01-15-fees"]
    assert "1 append-only-violation" in blocked["what"]
    assert blocked["severity"] == "warn"
    assert "doctor" in blocked["remedy"]


def test_every_check_that_did_not_pass_names_a_command(
    place: Path, instance: dg.DagsterInstance, webhook: Webhook
) -> None:
    """Whoever is called by an alert knows what to type, as in the check's own words."""
    (place / "ledgers" / "stranger").mkdir()
    (place / "ledgers" / "stranger" / "s1.jsonl").write_bytes(b"{}\n")
    with (place / "ledgers" / "banca" / "2026-01-15-fees.jsonl").open("ab") as ledger:
        ledger.write(b"{oops}\n" * 9)
    review = Workspace.load().home.review_decisions
    review.parent.mkdir(parents=True, exist_ok=True)
    review.write_bytes(b"{oops}\n")
    result = _night(instance)
    assert result.success
    _tell_checks(instance, result)
    (alert,) = webhook.posted
    said = {reason["name"]: reason["what"] for reason in alert["reasons"]}
    assert {
        "tenant_preflight.every_tenant_may_go_on",
        "ledger_events.quarantine_ratio",
        "review_queue.backlog_is_looked_at",
        "review_queue.review_lines_count",
    } <= said.keys()
    assert "stranger (by tenant)" in said["tenant_preflight.every_tenant_may_go_on"]
    assert "clinica 24" in said["review_queue.backlog_is_looked_at"]
    remedies = {reason["name"]: reason["remedy"] for reason in alert["reasons"]}
    assert all("`memory-assets " in remedy for remedy in remedies.values()), remedies
    shown = {
        f"{check.asset_key.to_user_string()}.{check.check_name}": check.description
        for check in result.get_asset_check_evaluations()
        if not check.passed
    }
    assert shown == {name: f"{said[name]} What to do: {remedies[name]}" for name in said}
    assert all(remedy in alert["text"] for remedy in remedies.values())


def test_a_refused_generation_is_told_with_its_rows_and_remedy(
    place: Path, instance: dg.DagsterInstance, webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The alert of a blocking check says which rows to look at, and what to do about them."""

    def refuses(staged: checks.Staged) -> checks.CheckResult:
        return checks.ids_unique(replace(staged, after=pl.concat([staged.after, staged.after])))

    refuses.__name__ = "ids_unique"
    monkeypatch.setattr(checks, "BLOCKING_CHECKS", (refuses, *checks.BLOCKING_CHECKS[1:]))
    result = _night(instance)
    assert not result.success
    _tell_failure(instance, result)
    (alert,) = webhook.posted
    told = {reason["name"]: reason for reason in alert["reasons"]}
    check = told["published_generation.ids_unique"]
    assert check["severity"] == "error"
    assert "banca/mem-0001" in check["where"]
    assert "look at the rows" in check["remedy"]
    assert check["remedy"] in told["publication"]["remedy"]


def test_a_quiet_night_tells_nobody(
    place: Path, instance: dg.DagsterInstance, webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alerts that come every night are read by nobody."""
    monkeypatch.setenv("MEMORY_ASSETS_QUARANTINE_WARN_RATIO", "1")
    monkeypatch.setenv("MEMORY_ASSETS_REVIEW_WARN_DAYS", "36500")
    result = _night(instance)
    assert result.success
    _tell_checks(instance, result)
    assert webhook.posted == []


def _body(*reasons: Reason) -> bytes:
    return json.dumps(Alert("run-failed", "job", "run", reasons).to_dict()).encode()


def _hand_over(instance: dg.DagsterInstance) -> str:
    resources = {"workspace": WorkspaceResource()}
    with dg.build_sensor_context(instance=instance, resources=resources) as context:
        found = undelivered_alerts(context)
    assert isinstance(found, dg.SkipReason)
    return found.skip_message or ""


def test_an_alert_that_cannot_be_delivered_is_handed_over_later(
    place: Path, instance: dg.DagsterInstance, webhook: Webhook
) -> None:
    """Dagster shows a run to the sensor once: what was not told then is told by another sensor."""
    (place / "ledgers" / "stranger").mkdir()
    (place / "ledgers" / "stranger" / "s1.jsonl").write_bytes(b"{}\n")
    result = _night(instance)
    webhook.answers = [503, 503, 503]
    with pytest.raises(OSError, match="503"):
        _tell_checks(instance, result)
    missed = webhook.posted[-1]
    webhook.posted.clear()
    assert _hand_over(instance) == "1 alerts were delivered"
    assert webhook.posted == [missed]
    assert _hand_over(instance) == "no alert waits"
    assert webhook.posted == [missed]


def test_an_alert_that_is_refused_waits_and_holds_up_no_other(
    place: Path, instance: dg.DagsterInstance, webhook: Webhook
) -> None:
    """The tick fails, the alerts behind it arrive, and after a week it is given up."""
    folder = Workspace.load().home.ensure().undelivered
    folder.mkdir()
    today = datetime.now(UTC)
    for name in ("a", "b"):
        (folder / f"{today:%Y%m%dT%H%M%S.%f}-{name}.json").write_bytes(
            _body(Reason(name, "c", "w"))
        )
    old = folder / f"{today - timedelta(days=8):%Y%m%dT%H%M%S.%f}-old.json"
    old.write_bytes(_body())
    webhook.answers = [400]
    with pytest.raises(OSError, match="400"):
        _hand_over(instance)
    assert [posted["reasons"][0]["name"] for posted in webhook.posted] == ["a", "b"]
    assert [path.name[-6:] for path in folder.iterdir()] == ["a.json"]


def test_alerts_wait_while_no_webhook_is_set(
    place: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever takes the address out for an hour loses nothing."""
    folder = Workspace.load().home.ensure().undelivered
    folder.mkdir()
    waiting = folder / f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}-a.json"
    waiting.write_bytes(_body())
    monkeypatch.delenv("MEMORY_ASSETS_ALERT_WEBHOOK", raising=False)
    assert "alert_webhook is empty" in _hand_over(instance)
    assert waiting.exists()


def test_a_webhook_that_stumbles_is_asked_again(webhook: Webhook) -> None:
    """One answer of 503 does not lose the alert."""
    webhook.answers = [503]
    deliver(webhook.url, _body(Reason("step", "code", "what")))
    assert len(webhook.posted) == 2


def test_a_webhook_that_refuses_makes_the_tick_fail(webhook: Webhook) -> None:
    """An alert that cannot be delivered shows in the UI; its address, a secret, does not."""
    webhook.answers = [404]
    with pytest.raises(OSError, match="404") as caught:
        deliver(webhook.url, _body())
    assert webhook.url not in str(caught.value)
    assert len(webhook.posted) == 1
