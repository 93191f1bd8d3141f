"""``tenant_preflight`` as Dagster runs it: who is stopped, by what, and what to do about it."""

from __future__ import annotations

from pathlib import Path

import dagster as dg

from memory_assets.defs.checks import what_and_remedy
from memory_assets.defs.ledgers import session_ledgers
from memory_assets.defs.preflight import tenant_preflight
from memory_assets.defs.resources import WorkspaceResource


def test_a_stopped_tenant_is_named_with_its_remedy(
    place: Path, instance: dg.DagsterInstance
) -> None:
    """The check names the tenant and a command; the log says at once what to mend."""
    (place / "ledgers" / "ünï co").mkdir()
    (place / "ledgers" / "ünï co" / "s1.jsonl").write_bytes(b"{}\n")
    result = dg.materialize(
        [tenant_preflight, session_ledgers],
        instance=instance,
        resources={"workspace": WorkspaceResource()},
    )
    assert result.success
    (check,) = result.get_asset_check_evaluations()
    what, remedy = what_and_remedy(check)
    assert (check.passed, what) == (False, "1 of 3 tenants are stopped: ünï co (by tenant).")
    assert "`memory-assets doctor --preflight`" in remedy
    logged = [entry.user_message for entry in instance.all_logs(result.run_id)]
    (warning,) = [message for message in logged if "is stopped by" in message]
    assert warning == (
        "tenant ünï co is stopped by check 6 (tenant): 'ünï co' has no entry. What to do: "
        f'add [tenants."ünï co"] to {place / "home" / "tenants.toml"}'
    )
