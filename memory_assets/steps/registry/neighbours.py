"""The memories nearest to each candidate, by raw cosine of the definitions and by subject."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import polars as pl

from memory_assets.domain.candidates import scope_text
from memory_assets.domain.keys import normalise
from memory_assets.domain.neighbours import Neighbour, neighbour
from memory_assets.domain.ports import Embedder, Progress, VectorCache, Vectors
from memory_assets.domain.spaces import definition_text
from memory_assets.embedding.through_cache import embed_through_cache
from memory_assets.errors import EmbeddingError

SHOWN: Final = 3
"""Neighbours per candidate, beside those of the same subject."""
_SAME_SUBJECT: Final = 3
_TENANT_SCOPE: Final = scope_text(("", "", "tenant"))
_BLOCK: Final = 512
Found = dict[tuple[Any, ...], tuple[Neighbour, ...]]
Known = Mapping[tuple[str, str, str], Neighbour]
"""(tenant_id, content hash of a candidate, memory_id) → what the guards said: no text of the two
ever changes."""


@dataclass(slots=True)
class NeighbourSearch:
    """Finds neighbours in one registry; a provider that fails leaves the search by subject."""

    embedder: Embedder
    cache: VectorCache
    progress: Progress | None = None
    known: Known = field(default_factory=dict)
    """Pairs that were judged before, by the same rules."""
    problem: str = field(default="", init=False)
    """Why cosines are missing."""

    def find(self, candidates: pl.DataFrame, active: pl.DataFrame, key: Sequence[str]) -> Found:
        """For each candidate, under its ``key`` columns, the memories nearest to it, nearest first.

        Only memories of the same tenant that everybody who may review the candidate may see: those
        of its own privacy scope, and the tenant's shared ones.
        """
        found: Found = {}
        for (tenant,), rows in candidates.group_by("tenant_id", maintain_order=True):
            memories = active.filter(pl.col("tenant_id") == tenant)
            if memories.is_empty():
                continue
            found |= self._of_tenant(rows, memories, key)
        return found

    def _of_tenant(self, rows: pl.DataFrame, memories: pl.DataFrame, key: Sequence[str]) -> Found:
        others = memories.select("memory_id", "subject", "detail", "scope").to_dicts()
        vectors = self._vectors([*rows.to_dicts(), *others])
        scopes = np.array([m["scope"] for m in others])
        subjects: dict[str, list[int]] = {}
        for place, memory in enumerate(others):
            subjects.setdefault(normalise(memory["subject"]), []).append(place)
        found: Found = {}
        for start in range(0, rows.height, _BLOCK):
            block = rows.slice(start, _BLOCK).to_dicts()
            cosines = vectors[start : start + len(block)] @ vectors[rows.height :].T
            for row, cosine in zip(block, cosines, strict=True):
                seen = (scopes == row["scope"]) | (scopes == _TENANT_SCOPE)
                same = [p for p in subjects.get(normalise(row["subject"]), ()) if seen[p]]
                places = _nearest(cosine, seen, same)
                found[tuple(row[k] for k in key)] = tuple(
                    self._neighbour(row, others[p], _plain(cosine[p])) for p in places
                )
        return found

    def _neighbour(
        self, row: Mapping[str, Any], memory: Mapping[str, Any], cosine: float | None
    ) -> Neighbour:
        before = self.known.get((row["tenant_id"], row["content_sha256"], memory["memory_id"]))
        return neighbour(row, memory, cosine) if before is None else before.at(cosine)

    def _vectors(self, rows: Sequence[dict[str, Any]]) -> Vectors:
        texts = [definition_text(subject=r["subject"], detail=r["detail"]) for r in rows]
        try:
            vectors, stats = embed_through_cache(
                self.embedder,
                self.cache,
                texts,
                kind="document",
                progress=self.progress,
                allow_missing=True,
            )
        except EmbeddingError as error:
            self.problem = error.code
            return np.full((len(texts), 1), np.nan, np.float32)
        if stats.problem is not None:
            self.problem = stats.problem.code
        return vectors


def _nearest(cosine: Vectors, seen: Any, same: Sequence[int]) -> list[int]:
    """Places of the nearest memories, those of the same subject among them, nearest first."""
    usable = np.where(seen & ~np.isnan(cosine), cosine, -np.inf)
    count = min(SHOWN, len(usable))
    top = np.argpartition(-usable, count - 1)[:count]
    places = {int(p) for p in top if usable[p] > -np.inf}
    by_cosine = sorted(same, key=lambda p: (-usable[p], p))
    places.update(by_cosine[:_SAME_SUBJECT])
    return sorted(places, key=lambda p: (-usable[p], p))


def _plain(cosine: Any) -> float | None:
    value = float(cosine)
    return None if np.isnan(value) else value
