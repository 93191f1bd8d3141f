"""Derived tables without the content of rows that are buried; the replay stays as it was."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import polars as pl

from memory_assets.domain.schemas import (
    NEAR_DUPLICATES,
    QUARANTINE,
    REVIEW_QUEUE,
    TEXTS,
    Column,
    TableSpec,
)

WHOLE_SESSION: Final = 0
"""Number of a tombstone that stands for the refused lines of a session: no row has it."""
_CONTENT = frozenset(
    (
        *("subject", "detail", "rationale", "question_context", "tables", "concepts", "cites"),
        *("user_id", "client_id", "audience", "source", "metadata", "extra", "scope", "answer"),
        *("duplicate_key", "content_sha256", "answer_key", "guards", "neighbours"),
    )
)
"""Columns of derived tables that hold, or can be traced back to, what somebody said."""
_MEMORY_ID: Final = r"mem-\d+"
_EMPTY_JSON: Final = {"metadata": "{}", "extra": "{}", "neighbours": "[]"}


def blanked(spec: TableSpec, frame: pl.DataFrame, buried: pl.DataFrame) -> pl.DataFrame:
    """The frame with nothing left of what the buried rows of a session said."""
    if spec.name == QUARANTINE.name:
        return _without_quotes(frame, buried)
    ref = _ref(frame)
    if ref is None or buried.is_empty():
        return frame
    gone = _gone(buried, ref)
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


def buried_rows(frame: pl.DataFrame, buried: pl.DataFrame) -> pl.DataFrame:
    """The rows of a derived table that are buried, as they stand."""
    ref = _ref(frame)
    if ref is None:
        return frame.clear()
    return frame.join(_gone(buried, ref), on=["tenant_id", "session_id", ref], how="semi")


def _ref(frame: pl.DataFrame) -> str | None:
    """The column that numbers a session's rows, if the table has one."""
    if "session_id" not in frame.columns:
        return None
    return next((n for n in ("decision_seq", "ref") if n in frame.columns), None)


def _gone(buried: pl.DataFrame, ref: str) -> pl.DataFrame:
    return buried.select("tenant_id", "session_id", pl.col("decision_seq").alias(ref)).unique()


def unnamed(
    spec: TableSpec, frame: pl.DataFrame, removed: Collection[tuple[str, str]]
) -> pl.DataFrame:
    """The frame with nothing left of what was compared with removed (tenant_id, memory_id)s.

    What guards said quotes words of both sides. A near duplicate of a removed memory is held until
    the next night has judged it anew; an item of the queue comes back with that night.
    """
    if spec.name == NEAR_DUPLICATES.name:
        hit = _pairs("memory_id").is_in(_names(removed))
        return frame.with_columns(
            pl.when(hit).then(pl.lit(found)).otherwise(pl.col(name)).alias(name)
            for name, found in (("outcome", "review"), ("memory_id", ""), ("guards", None))
        )
    if spec.name == REVIEW_QUEUE.name:
        near = pl.col("neighbours").str.extract_all(_MEMORY_ID)
        said = pl.col("label").str.extract_all(_MEMORY_ID)
        return frame.filter(~_names_one(pl.concat_list("memory_ids", near, said), frame, removed))
    return frame


def _names_one(
    named: pl.Expr, frame: pl.DataFrame, removed: Collection[tuple[str, str]]
) -> pl.Expr:
    found = frame.select("tenant_id", named.alias("named")).rows()
    gone = set(removed)
    return pl.lit(
        pl.Series([any((t, m) in gone for m in ids) for t, ids in found], dtype=pl.Boolean)
    )


def _pairs(column: str) -> pl.Expr:
    return pl.concat_str("tenant_id", pl.lit("/"), column)


def _names(removed: Collection[tuple[str, str]]) -> list[str]:
    return [f"{tenant}/{memory}" for tenant, memory in sorted(removed)]


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
    return pl.lit(_EMPTY_JSON.get(column.name, ""))


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
