"""What was accessed when: recorded uses and corroborations of each memory, counted once."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import polars as pl

from memory_assets.domain.tiers import HOT_WINDOW
from memory_assets.steps.registry.view import RegistryView

_ID: Final = ["tenant_id", "memory_id"]


def accesses_of(registry: RegistryView, *, now: datetime) -> pl.DataFrame:
    """tenant_id, memory_id, accesses, last_access, hot_accesses of memories that had any so far.

    What is dated in the future does not count. Accesses of a superseded memory are its survivor's.
    """
    at = pl.col("at")
    found = pl.concat(
        [
            registry.uses.select(*_ID, at=pl.col("used_at")),
            registry.corroborations.select(*_ID, at=pl.col("decided_at")),
        ]
    ).filter(at <= now)
    replaced = registry.superseded()
    if replaced.height:
        found = found.join(replaced, on=_ID, how="left").select(
            "tenant_id", pl.coalesce("superseded_by", "memory_id").alias("memory_id"), "at"
        )
    return (
        found.group_by(_ID)
        .agg(
            accesses=pl.len().cast(pl.Int64),
            last_access=at.max(),
            hot_accesses=(at >= now - HOT_WINDOW).sum().cast(pl.Int64),
        )
        .sort(_ID)
    )


def active_with_accesses(registry: RegistryView, *, now: datetime) -> pl.DataFrame:
    """The active memories with ``accesses``, ``hot_accesses`` and ``last_access`` (null: none)."""
    return (
        registry.active()
        .join(accesses_of(registry, now=now), on=_ID, how="left", maintain_order="left")
        .with_columns(pl.col("accesses").fill_null(0), pl.col("hot_accesses").fill_null(0))
    )
