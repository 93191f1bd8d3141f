"""Derived tables without the content of rows that are buried; the replay stays as it was."""

from __future__ import annotations

from typing import Final

import polars as pl

from memory_assets.domain.schemas import QUARANTINE, TEXTS, Column, TableSpec

WHOLE_SESSION: Final = 0
"""Number of a tombstone that stands for the refused lines of a session: no row has it."""
_CONTENT = frozenset(
    (
        *("subject", "detail", "rationale", "question_context", "tables", "concepts", "cites"),
        *("user_id", "client_id", "audience", "source", "metadata", "extra", "scope", "answer"),
        *("duplicate_key", "content_sha256"),
    )
)
"""Columns of derived tables that hold, or can be traced back to, what somebody said."""


def blanked(spec: TableSpec, frame: pl.DataFrame, buried: pl.DataFrame) -> pl.DataFrame:
    """The frame with nothing left of what the buried rows of a session said."""
    if spec.name == QUARANTINE.name:
        return _without_quotes(frame, buried)
    ref = next((n for n in ("decision_seq", "ref") if n in frame.columns), None)
    if ref is None or "session_id" not in frame.columns or buried.is_empty():
        return frame
    gone = buried.select("tenant_id", "session_id", pl.col("decision_seq").alias(ref)).unique()
    marked = frame.join(
        gone.with_columns(_buried=pl.lit(True)),
        on=["tenant_id", "session_id", ref],
        how="left",
        maintain_order="left",
    )
    hit = pl.col("_buried").fill_null(False)
    if "target" in frame.columns:  # what refers to a buried row may quote it
        hit = hit | _refers(marked, gone, ref)
    return (
        marked.with_columns(
            pl.when(hit).then(_nothing(c)).otherwise(pl.col(c.name)).alias(c.name)
            for c in spec.columns
            if c.name in _CONTENT and not (c.name == "detail" and "target" in frame.columns)
        )
        .with_columns(_detail(hit) if {"target", "detail"} <= set(frame.columns) else [])
        .select(spec.names())
    )


def _refers(frame: pl.DataFrame, gone: pl.DataFrame, ref: str) -> pl.Expr:
    found = frame.join(
        gone.rename({ref: "target"}).with_columns(_refers=pl.lit(True)),
        on=["tenant_id", "session_id", "target"],
        how="left",
        maintain_order="left",
    )
    return pl.lit(found["_refers"].fill_null(False))


def _detail(hit: pl.Expr) -> pl.Expr:
    """A detail that is only a reference says nothing, and the replay needs it."""
    keep = ~hit | pl.col("target").is_not_null()
    return pl.when(keep).then(pl.col("detail")).otherwise(pl.lit("")).alias("detail")


def _nothing(column: Column) -> pl.Expr:
    if column.nullable:
        return pl.lit(None, column.dtype)
    if column.dtype == TEXTS:
        return pl.lit([], TEXTS)
    return pl.lit("{}" if column.name in ("metadata", "extra") else "")


def _without_quotes(frame: pl.DataFrame, buried: pl.DataFrame) -> pl.DataFrame:
    """Refused lines of sessions with buried rows keep their place and code, but are not quoted.

    Nobody can tell whom a line speaks of that cannot be read.
    """
    sessions = buried.select("tenant_id", "session_id").unique().with_columns(_hit=pl.lit(True))
    marked = frame.join(sessions, on=["tenant_id", "session_id"], how="left", maintain_order="left")
    hit = pl.col("_hit").fill_null(False)
    return marked.with_columns(
        pl.when(hit).then(pl.lit("redacted")).otherwise(pl.col("reason")).alias("reason"),
        pl.when(hit).then(pl.lit(b"")).otherwise(pl.col("raw")).alias("raw"),
    ).select(frame.columns)
