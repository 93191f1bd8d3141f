"""Registry → pairs of memories that are close enough, or share a subject, and what guards say.

A pair is judged once, when it is found: what memories say never changes, and other guards have all
pairs found anew.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import polars as pl

from memory_assets.domain.guards import RULE_VERSION, judge
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
from memory_assets.steps.tables.frames import frame_of
from memory_assets.storage.parts import DerivedTables, Head, Part

GROUP: Final = "duplicate_pairs"
_REPORT_EVERY: Final = 1_000
_WITNESS: Final = ("promoted_generation", "memory_id", "decided_at")
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
        judging: Progress | None = None,
    ) -> None:
        """``progress`` hears of memories compared, ``judging`` of pairs judged."""
        self.derived = derived
        self.embedder = embedder
        self.cache = cache
        self.run = run
        self.exact_up_to = exact_up_to
        self.progress = progress
        self.judging = judging
        self._judged = 0

    def update(
        self, registry: RegistryView, tenants: tuple[str, ...], *, full: bool
    ) -> PairsResult:
        """The table, in step with the registry for these tenants.

        Without ``full`` only memories of generations that were never compared meet the others; the
        pairs of earlier runs stay. Another space, other rules, another registry (one restored from
        a backup) or an unknown tenant make it full for that tenant. What is compared while vectors
        are missing is compared again the next time. A run that stops anywhere leaves the table as
        it was.
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
            known = None if full or entry is None else self._through(entry, floor, registry, tenant)
            all_full = all_full and known is None
            made: list[Part] = []
            own = SearchStats()
            lacking = 0
            started = time.perf_counter()
            for group in scope_groups(registry, tenant, compared_through=known):
                if not group.fresh:
                    continue
                stats, missing = self._one_group(group, floor, known is None, made)
                own.merge(stats)
                compared, lacking = compared + group.fresh, lacking + missing
            total.merge(own)
            pending += lacking
            kept = [] if known is None or entry is None else list(entry["settled"])
            found += sum(p.rows for p in made)
            parts |= {p.path: p for p in made}
            listed = kept + [p.path for p in made]
            before = None if known is None or entry is None else entry["newest"]
            state[tenant] = {
                "parts": listed,
                "settled": kept if lacking else listed,
                "newest": before if lacking else _newest(registry, tenant),
                "space_id": self._space_id,
                "judged_by": RULE_VERSION,
                "floor": floor,
                "rows": own.rows,
                "approximate": own.approximate,
                "recall": own.recall,
                "seconds": round(time.perf_counter() - started, 3),
            }
        whole = [parts[path] for entry in state.values() for path in entry["parts"]]
        self.derived.commit(GROUP, {DUPLICATE_PAIRS.name: whole}, {"tenants": state})
        return PairsResult(
            tenants,
            all_full,
            compared,
            sum(p.rows for p in whole),
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

    def _through(
        self, entry: dict[str, Any], floor: float, registry: RegistryView, tenant_id: str
    ) -> int | None:
        """The generation up to which pairs are known; None when nothing of them holds any more."""
        wanted = (self._space_id, floor, RULE_VERSION)
        newest = entry.get("newest")
        if (entry["space_id"], entry["floor"], entry.get("judged_by")) != wanted or not newest:
            return None
        if "settled" not in entry:
            return None
        # Generation numbers come again after a restore: the memory itself has to be there.
        return int(newest[0]) if newest in _witnesses(registry, tenant_id, newest[1]) else None

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
            held.append(self._frame(group, chunk, "vector"))
            if sum(f.height for f in held) >= CHUNK_ROWS:
                flush()
        below = _by_subject(group, vectors, floor, group.frame.height - group.fresh)
        held += [self._frame(group, chunk, "subject") for chunk in below]
        if held:
            flush()
        return stats, embedding.missing

    def _frame(self, group: ScopeGroup, pairs: Pairs, found_by: str) -> pl.DataFrame:
        """The pairs as rows, the lower number first, with the judgement of the guards."""
        rows = []
        found = zip(pairs.left.tolist(), pairs.right.tolist(), pairs.cosine.tolist(), strict=True)
        for left, right, cosine in found:
            i, j = sorted((left, right), key=lambda n: int(group.ids[n][4:]))
            rows.append((*_judged(group, i, j), cosine, found_by))
            self._judged += 1
            if self.judging is not None and self._judged % _REPORT_EVERY == 0:
                self.judging(self._judged, self._judged)
        return frame_of(DUPLICATE_PAIRS, rows)


def _newest(registry: RegistryView, tenant_id: str) -> list[Any] | None:
    """The memory that was promoted last: its generation, id and time, no content."""
    return max(_witnesses(registry, tenant_id), default=None)


def _witnesses(
    registry: RegistryView, tenant_id: str, memory_id: str | None = None
) -> list[list[Any]]:
    own = registry.memories.filter(pl.col("tenant_id") == tenant_id).select(_WITNESS)
    if memory_id is not None:
        own = own.filter(pl.col("memory_id") == memory_id)
    return [[number, name, at.isoformat()] for number, name, at in own.iter_rows()]


def _judged(group: ScopeGroup, i: int, j: int) -> tuple[object, ...]:
    said = judge(
        group.texts[i],
        group.texts[j],
        subject_a=group.names[i],
        subject_b=group.names[j],
        complete=False,
    )
    return (
        group.tenant_id,
        group.ids[i],
        group.ids[j],
        group.subjects[i] == group.subjects[j],
        said.relation,
        [v.guard for v in said.differing],
        [v.guard for v in said.blocking],
    )


def read_pairs(derived: DerivedTables, tenant_id: str) -> Iterator[pl.DataFrame]:
    """The pairs of a tenant, one part at a time."""
    entry = derived.info(GROUP).get("tenants", {}).get(tenant_id)
    head: Head = derived.head(GROUP)
    # Pairs of an earlier version were not judged: the next search finds them anew.
    wanted = set(entry["parts"]) if entry and "judged_by" in entry else set()
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
