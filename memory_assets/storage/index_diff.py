"""What has to change for an index to hold what the registry wants; pure."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl
import pyarrow as pa

from memory_assets.errors import IndexMismatch

KEY_COLUMNS = {"row_key": pl.String, "index_sha256": pl.String, "has_vector": pl.Boolean}


@dataclass(frozen=True, slots=True)
class Change:
    """Row keys by what has to happen to them, each list sorted. Falsy when nothing has to."""

    inserts: list[str]
    updates: list[str]
    orphans: list[str]
    duplicated: list[str]

    def __bool__(self) -> bool:
        return bool(self.inserts or self.updates or self.orphans or self.duplicated)

    @property
    def to_fetch(self) -> list[str]:
        """Keys whose rows must be written."""
        return sorted({*self.inserts, *self.updates})


def wanted_keys(target: pa.Table | pl.DataFrame) -> pl.DataFrame:
    """The target as (row_key, index_sha256, has_vector).

    Raises:
        IndexMismatch: a column is missing, a value is null, or a key occurs twice. LanceDB would
            insert both copies.
    """
    frame = target if isinstance(target, pl.DataFrame) else pl.DataFrame(target)
    missing = [name for name in KEY_COLUMNS if name not in frame.columns]
    if missing:
        raise _unsound("the index target lacks columns", missing)
    frame = frame.select(pl.col(name).cast(kind) for name, kind in KEY_COLUMNS.items())
    nulls = [name for name in KEY_COLUMNS if frame[name].null_count()]
    if nulls:
        raise _unsound("the index target has nulls in", nulls)
    twice = frame.filter(pl.col("row_key").is_duplicated())["row_key"].unique().sort().to_list()
    if twice:
        raise _unsound("the index target names row keys twice", twice)
    return frame


def difference(head: pl.DataFrame, wanted: pl.DataFrame) -> Change:
    """What turns ``head`` into ``wanted``; both are (row_key, index_sha256, has_vector).

    A vector that the head has and the target could not get just now is kept: equal hashes mean
    equal texts, so it is still the right one.
    """
    unique = head.unique("row_key", keep="first")
    both = wanted.join(unique, on="row_key", how="inner", suffix="_head")
    differs = (pl.col("index_sha256") != pl.col("index_sha256_head")) | (
        pl.col("has_vector") & ~pl.col("has_vector_head")
    )
    twice = head.filter(pl.col("row_key").is_duplicated()).select("row_key").unique()
    duplicated = wanted.join(twice, on="row_key", how="semi")["row_key"].to_list()
    updates = both.filter(differs)["row_key"].to_list()
    return Change(
        inserts=wanted.join(unique, on="row_key", how="anti")["row_key"].sort().to_list(),
        updates=sorted({*updates, *duplicated}),
        orphans=unique.join(wanted, on="row_key", how="anti")["row_key"].sort().to_list(),
        duplicated=sorted(duplicated),
    )


def _unsound(what: str, names: list[str]) -> IndexMismatch:
    return IndexMismatch(
        f"{what}: {', '.join(names[:5])}", remedy="report it: the registry must never yield this."
    )
