"""One published generation, opened for searching: built once, then shared by all its queries.

A query must not walk the registry. So what ranking needs of each memory (when it was last seen, how
often it was used, its vector) stands here in arrays, one place per memory of a tenant; the texts
stay in one table, of which a query touches the rows of its hits only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import RLock
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from memory_assets.domain.ports import Vectors
from memory_assets.domain.ranking import SECONDS_PER_DAY, Floats, Ranking
from memory_assets.domain.schemas import PROMOTION_KEY
from memory_assets.domain.visibility import Rule
from memory_assets.steps.registry.view import RegistryView
from memory_assets.storage.generations import Generation, GenerationStore, PinnedSpace, Snapshot
from memory_assets.storage.index_pinned import PinnedIndex
from memory_assets.storage.index_schema import equals

T = TypeVar("T")
KEPT: Final = 64
"""Answers kept per tenant and generation: masks of principals, mostly."""
MOST_SCALED: Final = 300.0
"""Time constants over which recency may be scaled before figures run out of exponent."""
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
_ID = ["tenant_id", "memory_id"]
_NUMBER = pl.col("memory_id").str.slice(4).cast(pl.Int64)


@dataclass(frozen=True)
class TenantRows:
    """The active memories of one tenant by number, and what ranking needs of each."""

    tenant_id: str
    frame: pl.DataFrame
    numbers: Ints
    last_seen: Floats
    """Seconds since 1970: the later of decision, last use and last corroboration."""
    uses: Ints
    _cache: dict[tuple[object, ...], Any] = field(default_factory=dict)
    _lock: RLock = field(default_factory=RLock)

    def __len__(self) -> int:
        return len(self.numbers)

    def visible(self, rule: Rule) -> Mask:
        """Which memories the rule allows; remembered, since a principal asks more than once."""
        return self._kept(("rule", rule), lambda: _mask(self.frame, rule.expr()))

    def recency(self, ranking: Ranking, now: float) -> Floats:
        """The recency term of every memory.

        exp(-age/T) is kept as of the newest memory; another ``now`` scales all of them alike.
        """
        if not len(self):
            return np.empty(0)
        newest = float(self.last_seen.max())
        days = ranking.recency_days
        kept = self._kept(("recency", days), lambda: ranking.recency_term(self.last_seen, newest))
        passed = (now - newest) / (days * SECONDS_PER_DAY)
        if passed < -MOST_SCALED:
            return ranking.recency_term(self.last_seen, now)
        return np.asarray(np.minimum(kept * np.exp(-min(passed, MOST_SCALED)), 1.0), np.float64)

    def access(self, ranking: Ranking) -> Floats:
        """The access term of every memory, within the tenant."""
        most = int(self.uses.max(initial=0))
        return self._kept(("access",), lambda: ranking.access_term(self.uses, most))

    def places(self, row_keys: pl.Series) -> Ints:
        """Place of each index key in these arrays; -1 for a key that is no active memory."""
        prefix = f"{self.tenant_id}/mem-"
        own = row_keys.str.starts_with(prefix)
        found = row_keys.str.slice(len(prefix)).cast(pl.Int64, strict=False)
        wanted = found.fill_null(-1).to_numpy()
        if not len(self):
            return np.full(len(wanted), -1, np.int64)
        at = np.minimum(np.searchsorted(self.numbers, wanted), len(self) - 1)
        right = own.to_numpy() & (self.numbers[at] == wanted)
        return np.where(right, at, -1).astype(np.int64)

    def row_key(self, place: int) -> str:
        """The index key of a memory."""
        return f"{self.tenant_id}/{self.frame['memory_id'][place]}"

    def vectors(self, index: PinnedIndex) -> tuple[Vectors, Mask]:
        """(n, dimension) float32, and which rows have a vector; the others are zero."""
        return self._kept(("vectors", index.table), lambda: self._read_vectors(index))

    def offsets(self, index: PinnedIndex) -> Ints:
        """Where the index version stores each memory; -1 for one that it does not hold."""

        def read() -> Ints:
            places = self.places(index.key_order())
            offsets = np.full(len(self), -1, np.int64)
            known = places >= 0
            offsets[places[known]] = np.flatnonzero(known)
            return offsets

        return self._kept(("offsets", index.table), read)

    def _kept(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        with self._lock:
            if key not in self._cache:
                if len(self._cache) >= KEPT:
                    self._cache.clear()
                self._cache[key] = make()
            found: T = self._cache[key]
        return found

    def _read_vectors(self, index: PinnedIndex) -> tuple[Vectors, Mask]:
        rows = index.rows(("row_key", "vector"), equals("tenant_id", self.tenant_id))
        rows = rows.filter(pl.col("vector").is_not_null())
        places = self.places(rows["row_key"])
        matrix = np.zeros((len(self), index.dimension), np.float32)
        has = np.zeros(len(self), np.bool_)
        known = places >= 0
        if known.any():
            vectors = rows["vector"].to_numpy().astype(np.float32, copy=False)
            matrix[places[known]] = vectors.reshape(-1, index.dimension)[known]
            has[places[known]] = True
        return matrix, has

    def without_uses(self, events: pl.DataFrame, session_id: str) -> TenantRows:
        """The same as if the session had used and restated nothing: for questions that it asked."""
        own = events.filter(
            pl.col("tenant_id") == self.tenant_id, pl.col("session_id") == session_id
        )
        if own.is_empty():
            return self
        touched = own.select("memory_id").unique()
        others = use_counts(
            events.join(touched, on="memory_id", how="semi").filter(
                pl.col("tenant_id") == self.tenant_id, pl.col("session_id") != session_id
            )
        )
        rows = (
            self.frame.join(touched, on="memory_id", how="semi")
            .select("memory_id", "decided_at")
            .join(others, on="memory_id", how="left")
        )
        uses, last_seen = self.uses.copy(), self.last_seen.copy()
        for memory, decided, count, last in rows.select(
            "memory_id", "decided_at", "uses", "last_use"
        ).iter_rows():
            place = int(np.searchsorted(self.numbers, int(memory[4:])))
            uses[place] = count or 0
            last_seen[place] = max(decided, last or decided).timestamp()
        vectors = {k: v for k, v in self._cache.items() if k[0] in ("vectors", "rule", "offsets")}
        return replace(self, uses=uses, last_seen=last_seen, _cache=vectors)


class ServedGeneration:
    """A generation pinned for queries: its registry, and the index versions it names."""

    def __init__(self, store: GenerationStore, generation: Generation) -> None:
        self.generation = generation
        self._index_dir = store.home.index
        self.registry = RegistryView.of(Snapshot(store, generation))
        self._tenants: dict[str, TenantRows] = {}
        self._indexes: dict[str, PinnedIndex] = {}
        self._lock = RLock()

    def index(self, pinned: PinnedSpace) -> PinnedIndex:
        """The index version that this generation names.

        Raises:
            IndexMismatch: it is gone.
        """
        with self._lock:
            if pinned.table not in self._indexes:
                opened = PinnedIndex(self._index_dir, pinned.table, pinned.version)
                self._indexes[pinned.table] = opened
            return self._indexes[pinned.table]

    @cached_property
    def active(self) -> pl.DataFrame:
        """Active memories with ``tier``, ``uses`` and ``last_seen``."""
        uses = use_counts(use_events(self.registry))
        active = self.registry.active().join(uses, on=_ID, how="left")
        return active.with_columns(
            pl.col("uses").fill_null(0),
            pl.max_horizontal("decided_at", "last_use").alias("last_seen"),
        ).drop("last_use")

    @cached_property
    def tenants(self) -> frozenset[str]:
        """Tenants that ever had a memory."""
        named = self.registry.memories["tenant_id"].unique().to_list()
        return frozenset({*self.generation.counters, *named})

    @cached_property
    def everything(self) -> pl.DataFrame:
        """Every memory with ``tier``, ``status`` and ``superseded_by``."""
        return self.registry.status()

    @cached_property
    def replaced(self) -> pl.DataFrame:
        """tenant_id, memory_id, superseded_by of every superseded memory."""
        return self.registry.superseded()

    def tenant(self, tenant_id: str) -> TenantRows:
        """The tenant's active memories; none for a tenant without any."""
        with self._lock:
            if tenant_id not in self._tenants:
                self._tenants[tenant_id] = self._tenant(tenant_id)
            return self._tenants[tenant_id]

    def _tenant(self, tenant_id: str) -> TenantRows:
        frame = self.active.filter(pl.col("tenant_id") == tenant_id).sort(_NUMBER)
        return TenantRows(
            tenant_id,
            frame,
            frame.select(_NUMBER).to_series().to_numpy().astype(np.int64),
            frame["last_seen"].dt.timestamp("us").to_numpy().astype(np.float64) / 1e6,
            frame["uses"].to_numpy().astype(np.int64),
        )


def _mask(frame: pl.DataFrame, expr: pl.Expr) -> Mask:
    return np.array(frame.select(expr.fill_null(False).alias("kept"))["kept"].to_numpy(), np.bool_)


def use_events(registry: RegistryView) -> pl.DataFrame:
    """The promotion key, memory_id and time (decided_at) of recorded uses and corroborations.

    A use and its later acceptance are one event: both carry the key of the same row. What was said
    about a memory counts for the one that replaced it.
    """
    columns = [*PROMOTION_KEY, "memory_id", "decided_at"]
    events = pl.concat(
        [
            registry.corroborations.select(columns),
            registry.uses.rename({"used_at": "decided_at"}).select(columns),
        ]
    ).unique(PROMOTION_KEY, keep="first", maintain_order=True)
    replaced = registry.superseded()
    if replaced.is_empty():
        return events
    return events.join(replaced, on=_ID, how="left").select(
        *PROMOTION_KEY, pl.coalesce("superseded_by", "memory_id").alias("memory_id"), "decided_at"
    )


def use_counts(events: pl.DataFrame) -> pl.DataFrame:
    """tenant_id, memory_id, uses, last_use of ``use_events``, each event once."""
    return events.group_by(_ID).agg(
        pl.len().cast(pl.Int64).alias("uses"), pl.col("decided_at").max().alias("last_use")
    )
