"""Personal data on its way to the registry: what holds some waits for a person; hits counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from memory_assets.domain.personal import CHECKED_COLUMNS, personal_kinds

ClientNames = Callable[[str], Sequence[str]]
"""Tenant → the names of its clients, from the settings."""
_EXAMPLES: Final = 5


@dataclass(frozen=True, slots=True)
class PersonalReport:
    """Personal data in published memories: counts and ids, nothing of it quoted."""

    checked: int
    by_kind: dict[str, int]
    """Memories per kind; one may count under several."""
    memories: int
    examples: tuple[str, ...]
    """Row keys of the first ones."""

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON and as run metadata."""
        return {
            "checked": self.checked,
            "memories": self.memories,
            "by_kind": self.by_kind,
            "examples": list(self.examples),
        }


def hold_personal(routes: pl.DataFrame) -> pl.DataFrame:
    """The routes with what holds ``personal`` data held for a reviewer.

    Whatever the policy or a marker says, such a row waits; a reviewer's own accept, given with the
    row in view, stands.
    """
    by_itself = (pl.col("route") == "automatic") | (
        (pl.col("route") == "accepted") & pl.col("review_verdict").is_null()
    )
    return routes.with_columns(
        pl.when(by_itself & pl.col("personal").is_not_null())
        .then(pl.lit("review"))
        .otherwise("route")
        .alias("route")
    )


def with_personal(label: str, personal: str | None) -> str:
    """A candidate's label that says which kinds of personal data it holds, and quotes none."""
    return f"{label}; personal data: {personal}" if personal else label


def personal_report(memories: pl.DataFrame, client_names: ClientNames) -> PersonalReport:
    """The personal data in memories of the registry; only what a person accepted can be there."""
    counted: Counter[str] = Counter()
    keys = []
    for row in memories.select("memory_id", "tenant_id", *CHECKED_COLUMNS).iter_rows(named=True):
        kinds = personal_kinds(row, client_names(row["tenant_id"]))
        if kinds:
            counted.update(kinds)
            keys.append(f"{row['tenant_id']}/{row['memory_id']}")
    return PersonalReport(
        memories.height, dict(sorted(counted.items())), len(keys), tuple(sorted(keys)[:_EXAMPLES])
    )
