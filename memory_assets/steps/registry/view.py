"""The registry of one generation as people and searches see it: what is active, and where."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import polars as pl

from memory_assets.domain.promotion import (
    ContentKey,
    Known,
    PromotionKey,
    replacements,
    survivors_of,
)
from memory_assets.domain.schemas import (
    CORROBORATIONS,
    DETACHMENTS,
    MEMORIES,
    PROMOTION_KEY,
    RETIREMENTS,
    SUPERSESSIONS,
    TIER_ASSIGNMENTS,
    TOMBSTONES,
    USES,
)
from memory_assets.storage.generations import Snapshot

DEFAULT_TIER = "recall"
_ID = ["tenant_id", "memory_id"]
_ATTRIBUTES: Final = {
    MEMORIES.name: "memories",
    CORROBORATIONS.name: "corroborations",
    SUPERSESSIONS.name: "supersessions",
    RETIREMENTS.name: "retirements",
    TIER_ASSIGNMENTS.name: "tiers",
    TOMBSTONES.name: "tombstones",
    USES.name: "uses",
    DETACHMENTS.name: "detachments",
}

_ALSO_NAMED: Final = {"supersessions": "superseded_by", "detachments": "detached_as"}
"""By attribute, the second column that names a memory."""


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
    uses: pl.DataFrame = field(default_factory=USES.empty)
    detachments: pl.DataFrame = field(default_factory=DETACHMENTS.empty)
    """Corroborations that became memories of their own; ``corroborations`` is without them."""

    @classmethod
    def of(cls, snapshot: Snapshot) -> RegistryView:
        """The tables of a pinned generation."""
        detached = snapshot.table(DETACHMENTS)
        corroborations = snapshot.table(CORROBORATIONS)
        if detached.height:
            corroborations = corroborations.join(detached, on=PROMOTION_KEY, how="anti")
        return cls(
            snapshot.number,
            snapshot.table(MEMORIES),
            corroborations,
            snapshot.table(SUPERSESSIONS),
            snapshot.table(RETIREMENTS),
            snapshot.table(TIER_ASSIGNMENTS),
            snapshot.table(TOMBSTONES),
            snapshot.table(USES),
            detached,
        )

    def with_rows(self, rows: Mapping[str, pl.DataFrame]) -> RegistryView:
        """The view with more rows at the end of its tables, named as in the schemas."""
        grown = {
            attribute: pl.concat([getattr(self, attribute), rows[name]])
            for name, attribute in _ATTRIBUTES.items()
            if name in rows
        }
        made = replace(self, **grown)
        if DETACHMENTS.name not in rows:
            return made
        kept = made.corroborations.join(rows[DETACHMENTS.name], on=PROMOTION_KEY, how="anti")
        return replace(made, corroborations=kept)

    def of_tenant(self, tenant_id: str) -> RegistryView:
        """One tenant's part."""
        own = {
            attribute: getattr(self, attribute).filter(pl.col("tenant_id") == tenant_id)
            for attribute in _ATTRIBUTES.values()
        }
        return replace(self, **own)

    def without(self, removed: Collection[tuple[str, str]]) -> RegistryView:
        """The view without these memories and every row about them; tombstones stay."""
        if not removed:
            return self
        gone = pl.DataFrame(list(removed), schema=dict.fromkeys(_ID, pl.String), orient="row")
        kept = {
            attribute: getattr(self, attribute).join(gone, on=_ID, how="anti")
            for name, attribute in _ATTRIBUTES.items()
            if name != TOMBSTONES.name
        }
        for attribute, column in _ALSO_NAMED.items():
            into = gone.rename({"memory_id": column})
            kept[attribute] = kept[attribute].join(into, on=["tenant_id", column], how="anti")
        return replace(self, **kept)

    def without_keys(self, keys: Collection[PromotionKey]) -> RegistryView:
        """The view without corroborations and uses that came from these decisions."""
        if not keys:
            return self
        gone = frame_of_keys(keys)
        return replace(
            self,
            corroborations=self.corroborations.join(gone, on=PROMOTION_KEY, how="anti"),
            uses=self.uses.join(gone, on=PROMOTION_KEY, how="anti"),
        )

    def tables(self) -> dict[str, pl.DataFrame]:
        """Every table by its name in the schemas."""
        return {name: getattr(self, attribute) for name, attribute in _ATTRIBUTES.items()}

    def replaced(self) -> dict[tuple[str, str], str]:
        """(tenant_id, memory_id) of each superseded memory → the one that replaced it."""
        return replacements(self.supersessions.sort("generation", maintain_order=True).to_dicts())

    def survivors(self) -> dict[tuple[str, str], str]:
        """(tenant_id, memory_id) → the memory that answers for it now."""
        return survivors_of(self.memories.select(_ID).rows(), self.replaced())

    def superseded(self) -> pl.DataFrame:
        """tenant_id, memory_id, superseded_by of memories that another one replaced."""
        chains = self.survivors() if self.supersessions.height else {}
        rows = [(t, m, s) for (t, m), s in chains.items() if s != m]
        return pl.DataFrame(
            rows, schema=dict.fromkeys([*_ID, "superseded_by"], pl.String), orient="row"
        )

    def active(self) -> pl.DataFrame:
        """Memories that may be found: neither superseded nor retired, with ``tier``.

        Sorted by tenant and memory number.
        """
        active = self.memories
        if self.supersessions.height:
            active = active.join(self.superseded(), on=_ID, how="anti")
        if self.retirements.height:
            active = active.join(self.retirements, on=_ID, how="anti")
        tiers = (
            self.tiers.sort("generation", maintain_order=True)
            .unique(_ID, keep="last")
            .select(*_ID, "tier")
        )
        return (
            active.join(tiers, on=_ID, how="left")
            .with_columns(pl.col("tier").fill_null(DEFAULT_TIER))
            .sort("tenant_id", pl.col("memory_id").str.slice(4).cast(pl.Int64))
        )

    def status(self) -> pl.DataFrame:
        """Every memory with ``tier``, ``superseded_by`` and ``status``.

        The status is active, superseded or retired.
        """
        tiers = (
            self.tiers.sort("generation", maintain_order=True)
            .unique(_ID, keep="last")
            .select(*_ID, "tier")
        )
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

    def answering(self) -> pl.DataFrame:
        """tenant_id, scope, duplicate_key, equal_memory: who answers for each content.

        The memory itself, or the one that superseded it; retired memories answer for nothing. Of
        several memories with one content (which promotion never makes) the oldest answers.
        """
        columns = ["tenant_id", "scope", "duplicate_key", "memory_id"]
        found = self.memories.select(*columns, "promoted_generation").sort(
            "promoted_generation", maintain_order=True
        )
        found = found.join(self.superseded(), on=_ID, how="left").with_columns(
            pl.coalesce("superseded_by", "memory_id").alias("equal_memory")
        )
        if self.retirements.height:
            retired = self.retirements.select(_ID)
            survivor = retired.rename({"memory_id": "equal_memory"})
            found = found.join(retired, on=_ID, how="anti").join(
                survivor, on=["tenant_id", "equal_memory"], how="anti"
            )
        return found.unique(columns[:3], keep="first", maintain_order=True).select(
            *columns[:3], "equal_memory"
        )

    def known(self, counters: dict[str, int]) -> Known:
        """What promotion has to know of the registry."""
        settled: frozenset[PromotionKey] = frozenset(
            self.settled_keys().select(PROMOTION_KEY).rows()
        )
        by_content: dict[ContentKey, str] = {
            (tenant, scope, key): memory for tenant, scope, key, memory in self.answering().rows()
        }
        return Known(settled, by_content, self.survivors(), counters)


def frame_of_keys(keys: Collection[PromotionKey]) -> pl.DataFrame:
    """Promotion keys as a frame to join with."""
    schema = TOMBSTONES.empty().select(PROMOTION_KEY).schema
    return pl.DataFrame(list(keys), schema=schema, orient="row")
