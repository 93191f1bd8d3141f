"""What every asset gets, and what an asset may say for itself."""

from __future__ import annotations

from datetime import timedelta

import dagster as dg

from memory_assets.defs.conventions import LATE, OVERDUE, with_conventions


def _assets() -> dict[str, dg.AssetSpec]:
    @dg.asset(tags={"own": "kept"})
    def nightly_table() -> None: ...

    @dg.asset(freshness_policy=dg.FreshnessPolicy.time_window(fail_window=timedelta(days=8)))
    def weekly_report() -> None: ...

    found = with_conventions([dg.AssetSpec("written_by_others"), nightly_table, weekly_report])
    return {
        spec.key.to_user_string(): spec
        for one in found
        for spec in ([one] if isinstance(one, dg.AssetSpec) else one.specs)
    }


def test_an_asset_is_late_after_one_night_and_overdue_after_two() -> None:
    """The usual policy leaves a night two hours to end."""
    policy = _assets()["nightly_table"].freshness_policy
    assert policy == dg.FreshnessPolicy.time_window(fail_window=OVERDUE, warn_window=LATE)


def test_own_tags_and_policies_stay() -> None:
    """A weekly report is not late after a day."""
    found = _assets()
    assert found["nightly_table"].tags["own"] == "kept"
    weekly = found["weekly_report"].freshness_policy
    assert weekly == dg.FreshnessPolicy.time_window(fail_window=timedelta(days=8))


def test_what_others_write_is_never_late() -> None:
    """No run of ours makes the ledgers, so none can be late."""
    assert _assets()["written_by_others"].freshness_policy is None
