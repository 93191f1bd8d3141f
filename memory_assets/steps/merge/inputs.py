"""The memories of a registry as the merge sees them: per tenant and privacy scope, with vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from memory_assets.domain.keys import normalise
from memory_assets.domain.merge import Member
from memory_assets.domain.ports import Embedder, Progress, VectorCache, Vectors
from memory_assets.domain.spaces import definition_text
from memory_assets.embedding.through_cache import EmbedStats, embed_through_cache
from memory_assets.steps.registry.view import RegistryView

BY_A_PERSON: Final = frozenset({"reviewed", "edited", "manual"})
_CONTENT: Final = ("subject", "detail", "rationale", "question_context")
_ID: Final = ["tenant_id", "memory_id"]


@dataclass(frozen=True)
class ScopeGroup:
    """Memories that may be merged with one another: one tenant, one privacy scope."""

    tenant_id: str
    scope: str
    frame: pl.DataFrame
    """Columns of ``RegistryView.status`` without retired rows; those to compare anew come last."""
    fresh: int
    """How many rows at the end were never compared."""

    @cached_property
    def ids(self) -> list[str]:
        """Memory ids in the order of the rows."""
        return self.frame["memory_id"].to_list()

    @cached_property
    def texts(self) -> list[str]:
        """Definitions in the order of the rows."""
        rows = self.frame.select("subject", "detail").iter_rows()
        return [definition_text(subject=s, detail=d) for s, d in rows]

    @cached_property
    def names(self) -> list[str]:
        """Subjects as they were written, in the order of the rows."""
        return self.frame["subject"].to_list()

    @cached_property
    def subjects(self) -> list[str]:
        """Normalised subjects in the order of the rows."""
        return [normalise(s) for s in self.names]


def scope_groups(
    registry: RegistryView, tenant_id: str, *, compared_through: int | None
) -> Iterator[ScopeGroup]:
    """The groups of a tenant that hold two memories or more, by scope.

    Superseded memories are compared too, so that a report can name the relatives of one that was
    replaced; retired ones are not. ``compared_through`` is the last generation whose memories have
    been compared with each other: None makes every memory fresh.
    """
    rows = registry.of_tenant(tenant_id).status().filter(pl.col("status") != "retired")
    since = -1 if compared_through is None else compared_through
    for scope in rows["scope"].unique().sort().to_list():
        own = rows.filter(pl.col("scope") == scope).with_columns(
            (pl.col("promoted_generation") > since).alias("_fresh")
        )
        if own.height > 1:
            ordered = own.sort("_fresh", maintain_order=True)
            yield ScopeGroup(tenant_id, scope, ordered.drop("_fresh"), int(own["_fresh"].sum()))


def definition_vectors(
    group: ScopeGroup,
    embedder: Embedder,
    cache: VectorCache,
    progress: Progress | None = None,
) -> tuple[Vectors, EmbedStats]:
    """Vectors in the order of the group's rows; a pending one is zero and pairs with nothing."""
    vectors, stats = embed_through_cache(
        embedder, cache, group.texts, kind="document", progress=progress, allow_missing=True
    )
    return np.nan_to_num(vectors, copy=False), stats


def members_of(registry: RegistryView, tenant_id: str) -> dict[str, Member]:
    """Every memory of a tenant as the survivor rules see it."""
    own = registry.of_tenant(tenant_id)
    seen = own.corroborations.group_by("memory_id").len().rows()
    counts: dict[str, int] = {memory: int(n) for memory, n in seen}
    columns = ["memory_id", "origin", "decided_at", *_CONTENT]
    return {
        row["memory_id"]: Member(
            memory_id=row["memory_id"],
            reviewed=row["origin"] in BY_A_PERSON,
            corroborations=counts.get(row["memory_id"], 0),
            completeness=sum(len(row[name]) for name in _CONTENT),
            decided_at=row["decided_at"],
        )
        for row in own.memories.select(columns).iter_rows(named=True)
    }


def subject_pairs(subjects: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Row numbers ``i < j`` of memories with one subject, whatever their vectors say."""
    by_subject: dict[str, list[int]] = {}
    for row, subject in enumerate(subjects):
        earlier = by_subject.setdefault(subject, [])
        for other in earlier:
            yield other, row
        earlier.append(row)
