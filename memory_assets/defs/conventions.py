"""What holds for every asset, whoever wrote it: when it is late, and whether it can be rebuilt."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Final

import dagster as dg

LATE: Final = timedelta(hours=26)
"""A night and two hours: from then on the UI warns."""
OVERDUE: Final = timedelta(hours=50)
"""Two nights were missed."""
WEEKLY: Final = dg.FreshnessPolicy.time_window(
    fail_window=timedelta(days=15), warn_window=timedelta(days=8)
)
"""Of what a weekly job makes."""
CANONICAL: Final = frozenset({"memory_registry", "published_generation"})
"""Assets that must be backed up; all others are made again from them and from the ledgers."""

_Asset = dg.AssetsDefinition | dg.AssetSpec


def with_conventions(assets: Iterable[_Asset]) -> list[_Asset]:
    """The assets with a freshness policy and with the tag that says what a backup must hold.

    Assets that other people write (they have no code here) get neither.
    """
    return [
        one if isinstance(one, dg.AssetSpec) else one.map_asset_specs(_complete) for one in assets
    ]


def _complete(spec: dg.AssetSpec) -> dg.AssetSpec:
    kept = "canonical" if spec.key.to_user_string() in CANONICAL else "rebuildable"
    policy = spec.freshness_policy or dg.FreshnessPolicy.time_window(
        fail_window=OVERDUE, warn_window=LATE
    )
    return spec.replace_attributes(
        tags={**spec.tags, "memory_assets/storage": kept}, freshness_policy=policy
    )
