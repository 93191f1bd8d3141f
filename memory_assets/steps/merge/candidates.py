"""Registry → pairs of memories that are close enough, or share a subject, to be looked at."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import polars as pl

from memory_assets.domain.guards import RULE_VERSION
from memory_assets.domain.merge_tables import DUPLICATE_PAIRS
from memory_assets.domain.ports import Embedder, Progress, VectorCache, Vectors
from memory_assets.domain.spaces import DEFINITION_RECIPE
from memory_assets.steps.merge.inputs import (
    ScopeGroup,
    definition_vectors,
    scope_groups,
    subject_pairs,
)
from memory_assets.steps.merge.pairs import (
    EXACT_UP_TO,
    Pairs,
    Runner,
    SearchStats,
    find_pairs,
    in_process,
)
from memory_assets.steps.merge.space import space_floor
from memory_assets.steps.registry.view import RegistryView
from memory_assets.storage.parts import DerivedTables, Head, Part

GROUP: Final = "duplicate_pairs"
CHUNK_ROWS: Final = 500_000
"""Rows that are held before they become a part on disk."""


@dataclass(frozen=True)
class PairsResult:
    """What a search for duplicates did."""

    tenants: tuple[str, ...]
    full: bool
    """All with all; otherwise new with existing."""
    compared: int
    """Memories that were compared anew."""
    pairs: int
    """Pairs in the table now."""
    found: int
    """Pairs that this run added."""
    floor: float
    approximate: bool
    recall: float
    pending: int
    """Memories without a vector: found by their subject only."""
    seconds: float = field(compare=False)

    def to_metadata(self) -> dict[str, Any]:
        """Counts for the run's metadata; no content."""
        return {
            "tenants": len(self.tenants),
            "full": self.full,
            "compared": self.compared,
            "pairs": self.pairs,
            "found": self.found,
            "review_floor": self.floor,
            "approximate": self.approximate,
            "recall": round(self.recall, 4),
            "pending_vectors": self.pending,
            "seconds": round(self.seconds, 3),
        }


class PairSearch:
    """Brings the pairs table up to date with one generation; open for the length of one run."""

    def __init__(
        self,
        derived: DerivedTables,
        embedder: Embedder,
        cache: VectorCache,
        *,
        run: Runner = in_process,
        exact_up_to: int = EXACT_UP_TO,
        progress: Progress | None = None,
    ) -> None:
        self.derived = derived
        self.embedder = embedder
        self.cache = cache
        self.run = run
        self.exact_up_to = exact_up_to
        self.progress = progress

    def update(
        self, registry: RegistryView, tenants: tuple[str, ...], *, full: bool
    ) -> PairsResult:
        """The table, in step with the registry for these tenants.

        Without ``full`` only memories of generations that were never compared meet the others; the
        pairs of earlier runs stay. Another space, other rules or an unknown tenant make it full for
        that tenant. A run that stops anywhere leaves the table as it was.
        """
        began = time.perf_counter()
        floor = space_floor(self.embedder, self.cache)
        state: dict[str, Any] = dict(self.derived.info(GROUP).get("tenants", {}))
        parts = {p.path: p for p in self.derived.head(GROUP).get(DUPLICATE_PAIRS.name, [])}
        total = SearchStats()
        compared = found = pending = 0
        all_full = True
        for tenant in tenants:
            entry = state.get(tenant)
            known = None if full or entry is None else self._through(entry, floor)
            all_full = all_full and known is None
            made: list[Part] = []
            own = SearchStats()
            started = time.perf_counter()
            for group in scope_groups(registry, tenant, compared_through=known):
                if not group.fresh:
                    continue
                stats, missing = self._one_group(group, floor, known is None, made)
                own.merge(stats)
                compared, pending = compared + group.fresh, pending + missing
            total.merge(own)
            kept = [] if known is None or entry is None else list(entry["parts"])
            found += sum(p.rows for p in made)
            parts |= {p.path: p for p in made}
            state[tenant] = {
                "parts": kept + [p.path for p in made],
                "through": registry.generation,
                "space_id": self._space_id,
                "rule_version": RULE_VERSION,
                "floor": floor,
                "rows": own.rows,
                "approximate": own.approximate,
                "recall": own.recall,
                "seconds": round(time.perf_counter() - started, 3),
            }
        listed = [parts[path] for entry in state.values() for path in entry["parts"]]
        self.derived.commit(GROUP, {DUPLICATE_PAIRS.name: listed}, {"tenants": state})
        return PairsResult(
            tenants,
            all_full,
            compared,
            sum(p.rows for p in listed),
            found,
            floor,
            total.approximate,
            total.recall,
            pending,
            time.perf_counter() - began,
        )

    @property
    def _space_id(self) -> str:
        return self.embedder.space(DEFINITION_RECIPE).space_id

    def _through(self, entry: dict[str, Any], floor: float) -> int | None:
        same = entry["space_id"] == self._space_id and entry["floor"] == floor
        return int(entry["through"]) if same else None

    def _one_group(
        self, group: ScopeGroup, floor: float, full: bool, made: list[Part]
    ) -> tuple[SearchStats, int]:
        vectors, embedding = definition_vectors(group, self.embedder, self.cache, self.progress)
        stats = SearchStats()
        held: list[pl.DataFrame] = []

        def flush() -> None:
            label = f"{group.tenant_id.encode().hex()[:12]}-{len(made):04d}"
            part = self.derived.parts.write(DUPLICATE_PAIRS, pl.concat(held), label)
            held.clear()
            if part is not None:
                made.append(part)

        chunks = find_pairs(
            vectors,
            floor,
            stats,
            fresh=None if full else group.fresh,
            exact_up_to=self.exact_up_to,
            run=self.run,
            progress=self.progress,
        )
        for chunk in chunks:
            held.append(_frame(group, chunk, "vector"))
            if sum(f.height for f in held) >= CHUNK_ROWS:
                flush()
        below = _by_subject(group, vectors, floor, group.frame.height - group.fresh)
        held += [_frame(group, chunk, "subject") for chunk in below]
        if held:
            flush()
        return stats, embedding.missing


def read_pairs(derived: DerivedTables, tenant_id: str) -> Iterator[pl.DataFrame]:
    """The pairs of a tenant, one part at a time."""
    entry = derived.info(GROUP).get("tenants", {}).get(tenant_id)
    head: Head = derived.head(GROUP)
    wanted = set(entry["parts"]) if entry else set()
    for part in head.get(DUPLICATE_PAIRS.name, []):
        if part.path in wanted:
            yield derived.parts.read(DUPLICATE_PAIRS, [part])


def compared_tenants(derived: DerivedTables) -> dict[str, dict[str, Any]]:
    """Per tenant what its pairs were found with: generation, space, rules, floor."""
    return dict(derived.info(GROUP).get("tenants", {}))


def _by_subject(
    group: ScopeGroup, vectors: Vectors, floor: float, first_fresh: int
) -> Iterator[Pairs]:
    """Pairs of one subject that the vectors alone would not have found."""
    rows = [(i, j) for i, j in subject_pairs(group.subjects) if j >= first_fresh]
    for start in range(0, len(rows), CHUNK_ROWS):
        pairs = np.array(rows[start : start + CHUNK_ROWS], np.int32)
        cosine = np.einsum("ij,ij->i", vectors[pairs[:, 0]], vectors[pairs[:, 1]])
        below = cosine < np.float32(floor)
        yield Pairs(pairs[below, 0], pairs[below, 1], cosine[below])


def _frame(group: ScopeGroup, pairs: Pairs, found_by: str) -> pl.DataFrame:
    ids = pl.Series(group.ids)
    left, right = ids.gather(pairs.left), ids.gather(pairs.right)
    ordered = left.str.slice(4).cast(pl.Int64) < right.str.slice(4).cast(pl.Int64)
    return pl.DataFrame(
        {
            "tenant_id": pl.Series([group.tenant_id], dtype=pl.String).new_from_index(0, len(left)),
            "memory_a": left.zip_with(ordered, right),
            "memory_b": right.zip_with(ordered, left),
            "cosine": pl.Series(pairs.cosine, dtype=pl.Float32).cast(pl.Float64),
            "found_by": pl.Series([found_by], dtype=pl.String).new_from_index(0, len(left)),
        }
    ).select(DUPLICATE_PAIRS.names())
