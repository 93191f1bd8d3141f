"""The registry of one generation as people and searches see it: what is active, and where."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from memory_assets.domain.promotion import Known, PromotionKey, survivors_of
from memory_assets.domain.schemas import (
    CORROBORATIONS,
    MEMORIES,
    PROMOTION_KEY,
    RETIREMENTS,
    SUPERSESSIONS,
    TIER_ASSIGNMENTS,
    TOMBSTONES,
)
from memory_assets.storage.generations import Snapshot

DEFAULT_TIER = "recall"
_ID = ["tenant_id", "memory_id"]


@dataclass(frozen=True, slots=True)
class RegistryView:
    """All registry tables of one generation, read once."""

    generation: int
    memories: pl.DataFrame
    corroborations: pl.DataFrame
    supersessions: pl.DataFrame
    retirements: pl.DataFrame
    tiers: pl.DataFrame
    tombstones: pl.DataFrame

    @classmethod
    def of(cls, snapshot: Snapshot) -> RegistryView:
        """The tables of a pinned generation."""
        return cls(
            snapshot.number,
            snapshot.table(MEMORIES),
            snapshot.table(CORROBORATIONS),
            snapshot.table(SUPERSESSIONS),
            snapshot.table(RETIREMENTS),
            snapshot.table(TIER_ASSIGNMENTS),
            snapshot.table(TOMBSTONES),
        )

    def with_new(self, memories: pl.DataFrame, corroborations: pl.DataFrame) -> RegistryView:
        """The view after more memories and corroborations."""
        return RegistryView(
            self.generation,
            pl.concat([self.memories, memories]),
            pl.concat([self.corroborations, corroborations]),
            self.supersessions,
            self.retirements,
            self.tiers,
            self.tombstones,
        )

    def survivors(self) -> dict[tuple[str, str], str]:
        """(tenant_id, memory_id) → the memory that answers for it now."""
        ids = self.memories.select(_ID).rows()
        return survivors_of(ids, self.supersessions.sort("generation").to_dicts())

    def superseded(self) -> pl.DataFrame:
        """tenant_id, memory_id, superseded_by of memories that another one replaced."""
        if self.supersessions.is_empty():
            return pl.DataFrame(schema=dict.fromkeys([*_ID, "superseded_by"], pl.String))
        rows = [(t, m, s) for (t, m), s in self.survivors().items() if s != m]
        return pl.DataFrame(rows, schema=[*_ID, "superseded_by"], orient="row")

    def active(self) -> pl.DataFrame:
        """Memories that may be found: neither superseded nor retired, with ``tier``.

        Sorted by tenant and memory number.
        """
        active = self.memories
        if self.supersessions.height:
            active = active.join(self.superseded(), on=_ID, how="anti")
        if self.retirements.height:
            active = active.join(self.retirements, on=_ID, how="anti")
        tiers = self.tiers.sort("generation").unique(_ID, keep="last").select(*_ID, "tier")
        return (
            active.join(tiers, on=_ID, how="left")
            .with_columns(pl.col("tier").fill_null(DEFAULT_TIER))
            .sort("tenant_id", pl.col("memory_id").str.slice(4).cast(pl.Int64))
        )

    def status(self) -> pl.DataFrame:
        """Every memory with ``tier``, ``status`` (active, superseded, retired), ``superseded_by``."""
        tiers = self.tiers.sort("generation").unique(_ID, keep="last").select(*_ID, "tier")
        retired = self.retirements.select(_ID).unique().with_columns(pl.lit(True).alias("_gone"))
        return (
            self.memories.join(tiers, on=_ID, how="left")
            .join(self.superseded(), on=_ID, how="left")
            .join(retired, on=_ID, how="left")
            .with_columns(
                pl.col("tier").fill_null(DEFAULT_TIER),
                pl.when(pl.col("_gone"))
                .then(pl.lit("retired"))
                .when(pl.col("superseded_by").is_not_null())
                .then(pl.lit("superseded"))
                .otherwise(pl.lit("active"))
                .alias("status"),
            )
            .drop("_gone")
            .sort("tenant_id", pl.col("memory_id").str.slice(4).cast(pl.Int64))
        )

    def settled_keys(self) -> pl.DataFrame:
        """Promotion keys that are settled for good, with the memory that holds each."""
        columns = [*PROMOTION_KEY, "memory_id"]
        return pl.concat(
            [
                self.memories.select(columns),
                self.corroborations.select(columns),
                self.tombstones.select(columns),
            ]
        )

    def known(self, counters: dict[str, int]) -> Known:
        """What promotion has to know of the registry."""
        survivors = self.survivors()
        settled: frozenset[PromotionKey] = frozenset(
            self.settled_keys().select(PROMOTION_KEY).rows()
        )
        retired = set(self.retirements.select(_ID).rows())
        by_content = {}
        ids = self.memories.select("tenant_id", "memory_id", "scope", "duplicate_key").rows()
        for tenant, memory, scope, key in ids:
            survivor = survivors[tenant, memory]
            if (tenant, survivor) not in retired and (tenant, memory) not in retired:
                by_content.setdefault((tenant, scope, key), survivor)
        return Known(settled, by_content, survivors, counters)
