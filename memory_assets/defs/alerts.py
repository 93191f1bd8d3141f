"""Who is told when a run fails or a check does not pass: the log, and a webhook if one is set."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import dagster as dg

from memory_assets.defs.checks import what_and_remedy
from memory_assets.defs.resources import WorkspaceResource, now
from memory_assets.domain.alerts import Alert, Reason
from memory_assets.storage.files import write_atomically

_TRIES = 3
_TIMEOUT_SECONDS = 10
_KEPT = timedelta(days=7)


@dg.run_failure_sensor(
    name="failed_runs",
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Tells the log, and the webhook of the setting alert_webhook, which run failed in "
    "which step, why, where, and what to do.",
)
def failed_runs(context: dg.RunFailureSensorContext, workspace: WorkspaceResource) -> None:
    """One alert per failed run."""
    _tell(context, failure_alert(context), workspace)


@dg.run_status_sensor(
    name="failed_checks",
    run_status=dg.DagsterRunStatus.SUCCESS,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Tells the log, and the webhook of the setting alert_webhook, which checks did not "
    "pass in a run that ended well: refused lines, blocked sessions, missing vectors.",
)
def failed_checks(context: dg.RunStatusSensorContext, workspace: WorkspaceResource) -> None:
    """One alert per run with checks that did not pass; none for a run without."""
    run = context.dagster_run
    reasons = tuple(check_reasons(context.instance, run.run_id))
    if reasons:
        _tell(context, Alert("check-failed", run.job_name, run.run_id, reasons), workspace)


def failure_alert(context: dg.RunFailureSensorContext) -> Alert:
    """What stopped the run: its failed steps and checks, or how its process ended."""
    run = context.dagster_run
    reasons = [_step_reason(event) for event in context.get_step_failure_events()]
    reasons += check_reasons(context.instance, run.run_id)
    if not reasons:
        message = context.failure_event.message or "the process that worked on it has ended"
        reasons = [Reason("run", "unexpected", message, remedy=_NEXT_NIGHT)]
    return Alert("run-failed", run.job_name, run.run_id, tuple(reasons))


_STOPPED = "the process was told to stop (SIGTERM), and not by Terminate in the UI"
_NEXT_NIGHT = "nothing is half-done: the next night, or a new run, goes on from here."


def check_reasons(instance: dg.DagsterInstance, run_id: str) -> Iterator[Reason]:
    """The checks of a run that did not pass, each with its message and the sessions it names."""
    logs = instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION)
    for entry in logs:
        event = entry.dagster_event
        if event is None or event.asset_check_evaluation_data.passed:
            continue
        check = event.asset_check_evaluation_data
        what, remedy = what_and_remedy(check)
        yield Reason(
            f"{check.asset_key.to_user_string()}.{check.check_name}",
            "check-failed",
            what,
            ", ".join(_listed(check, "examples")),
            remedy,
            severity="warn" if check.severity is dg.AssetCheckSeverity.WARN else "error",
            sessions=_listed(check, "sessions"),
        )


def _listed(check: dg.AssetCheckEvaluation, name: str) -> list[str]:
    """Row keys or sessions that a check names in its metadata."""
    named = check.metadata.get(name)
    return [str(s) for s in named.value] if named and isinstance(named.value, list) else []


@dg.sensor(
    name="undelivered_alerts",
    minimum_interval_seconds=300,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Hands over the alerts that the webhook could not take when they arose, oldest "
    "first, for a week.",
)
def undelivered_alerts(
    context: dg.SensorEvaluationContext, workspace: WorkspaceResource
) -> dg.SkipReason:
    """Each alert until it is taken; one that the webhook refuses does not hold up the others."""
    opened = workspace.open()
    url = opened.settings.text("alert_webhook")
    oldest = _stamp(now() - _KEPT)
    refused = None
    delivered = 0
    for path in sorted(opened.home.undelivered.glob("*.json")):
        if path.name < oldest:
            context.log.warning("an alert was given up after a week: %s", path.name)
        elif not url:
            return dg.SkipReason("alerts wait, and the setting alert_webhook is empty")
        else:
            try:
                deliver(url, path.read_bytes())
            except _Refused as error:
                refused = error
                continue
            delivered += 1
        path.unlink()
    if refused is not None:
        raise refused
    return dg.SkipReason(f"{delivered} alerts were delivered" if delivered else "no alert waits")


class _Refused(OSError):
    """The webhook answered, and does not want this alert."""


def deliver(url: str, body: bytes) -> None:
    """Posts an alert's JSON; tries again twice, a moment later each time.

    Raises:
        OSError: it could not be delivered; the sensor's tick then shows why.
    """
    for attempt in range(1, _TRIES + 1):
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS):
                return
        except urllib.error.HTTPError as error:
            error.close()
            if attempt == _TRIES or error.code < 500:
                raise _Refused(f"the alert webhook answered {error.code}") from None
        except OSError as error:
            if attempt == _TRIES:
                # The address may hold a secret, so it is not repeated.
                raise OSError(f"the alert webhook cannot be reached: {error}") from None
        time.sleep(attempt)


def _tell(context: dg.RunStatusSensorContext, alert: Alert, workspace: WorkspaceResource) -> None:
    urgent = any(reason.severity == "error" for reason in alert.reasons)
    (context.log.error if urgent else context.log.warning)(alert.text())
    opened = workspace.open()
    url = opened.settings.text("alert_webhook")
    if not url:
        return
    body = json.dumps(alert.to_dict(), ensure_ascii=False).encode()
    try:
        deliver(url, body)
    except OSError:
        # Dagster does not show this sensor the run a second time.
        name = f"{_stamp(now())}-{alert.run_id}-{alert.kind}.json"
        write_atomically(opened.home.undelivered / name, body)
        raise


def _stamp(moment: datetime) -> str:
    return moment.strftime("%Y%m%dT%H%M%S.%f")


def _step_reason(event: dg.DagsterEvent) -> Reason:
    failure = event.step_failure_data
    named: dict[str, Any] = {}
    if failure.user_failure_data is not None:
        named = {k: v.value for k, v in failure.user_failure_data.metadata.items()}
    step = event.step_key or "run"
    if "error" in named:
        what, where, remedy = (str(named[name]) for name in ("what", "where", "remedy"))
        return Reason(step, str(named["error"]), what, where, remedy)
    if failure.error and failure.error.cls_name == dg.DagsterExecutionInterruptedError.__name__:
        return Reason(step, "interrupted", _STOPPED, remedy=_NEXT_NIGHT)
    said = failure.error.message.strip() if failure.error else "no message"
    return Reason(step, "unexpected", said, remedy=_NEXT_NIGHT)
