"""Declared columns of what is no Parquet table: ledger rows, vectors, and the search index.

The column schemas in the Dagster UI and the data dictionary derive from these declarations, as they
do from the tables; tests compare them with the parser's fields and the index's own schema.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from memory_assets.domain.schemas import MEMORIES, TEXTS, UTC_TIME, Column, TableSpec

LEDGER_ROWS: Final = TableSpec(
    "ledger rows",
    "One line of a session ledger, or of the companion file beside it, as its writer wrote it.",
    (
        Column("seq", pl.Int64, "Number of the row: from 1 on, strictly increasing."),
        Column("ts", pl.String, "When it was written: RFC 3339, or milliseconds since 1970."),
        Column("type", pl.String, "Event type; decides what the row does."),
        Column("session_id", pl.String, "Session; default: the file's name.", True),
        Column("tenant_id", pl.String, "Tenant; default: the folder's name.", True),
        Column("phase", pl.String, "Phase F1 to F8.", True),
        Column("subject", pl.String, "What is defined or decided.", True),
        Column("detail", pl.String, "The definition, or the row that a marker names.", True),
        Column("rationale", pl.String, "Why; cites memories that were reused.", True),
        Column("question_context", pl.String, "The question under work.", True),
        Column("tables", TEXTS, "Tables named by the row.", True),
        Column("concepts", TEXTS, "Concepts named by the row.", True),
        Column("user_id", pl.String, "User, if the row is bound to one.", True),
        Column("client_id", pl.String, "Client that the row is about.", True),
        Column("audience", pl.String, "tenant, client, user or profile.", True),
        Column("source", pl.String, "CHAT, TOOL_OUT, OBSERVATION or DECISION.", True),
        Column("metadata", pl.String, "A JSON object of the writer's own.", True),
        Column("after_seq", pl.Int64, "Companion rows only: the ledger row they follow.", True),
    ),
)

VECTORS: Final = TableSpec(
    "vectors",
    "One vector of one memory in one embedding space.",
    (
        Column("row_key", pl.String, "tenant_id/memory_id."),
        Column("text_sha256", pl.String, "Hash of the text that was embedded."),
        Column("vector", pl.List(pl.Float32), "The vector, of the space's dimension.", True),
    ),
)

_COPIED: Final = {c.name: c for c in MEMORIES.columns}

INDEX_ROWS: Final = TableSpec(
    "index rows",
    "One active memory in the search index of one embedding space.",
    (
        VECTORS.columns[0],
        Column("kind", pl.String, "Always memory: nothing else may enter the index."),
        _COPIED["tenant_id"],
        _COPIED["memory_id"],
        _COPIED["user_id"],
        _COPIED["client_id"],
        _COPIED["audience"],
        Column("tier", pl.String, "core, recall or archival."),
        _COPIED["type"],
        _COPIED["subject"],
        _COPIED["detail"],
        _COPIED["rationale"],
        _COPIED["question_context"],
        _COPIED["tables"],
        _COPIED["concepts"],
        Column("folded", pl.String, "The words as full-text search sees them: folded, stemmed."),
        Column("decided_at", UTC_TIME, "Time of the deciding row."),
        VECTORS.columns[1],
        Column("index_sha256", pl.String, "Hash of all columns but the vector: gates the upsert."),
        VECTORS.columns[2],
    ),
)
