"""Tables that keep every reading of a session: the rows of the newest one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from memory_assets.domain.schemas import TableSpec
from memory_assets.storage.parts import DerivedTables

READING: Final = ["tenant_id", "session_id", "ingest_no"]


def newest_rows(
    derived: DerivedTables,
    group: str,
    spec: TableSpec,
    sessions: pl.DataFrame,
    columns: Sequence[str],
    where: pl.Expr | None = None,
) -> pl.DataFrame:
    """The columns of the rows of each session's newest reading; only those are decoded."""
    names = list(dict.fromkeys([*READING, *columns]))
    found = derived.read(group, spec, names, where)
    return found.join(sessions.select(READING), on=READING, how="semi").select(columns)
