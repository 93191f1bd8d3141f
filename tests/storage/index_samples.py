"""Small index tables for the tests: rows, targets, and a source that knows both."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from memory_assets.domain.spaces import EmbeddingSpace, text_sha256
from memory_assets.domain.text import fold
from memory_assets.storage.index_schema import index_schema, row_key

DIMENSION = 8
SPACE = EmbeddingSpace("local", "tiny", DIMENSION, "f" * 8, "search-v1")
START = datetime(2026, 1, 1, tzinfo=UTC)


def unit(seed: int, dimension: int = DIMENSION) -> list[float]:
    """A unit vector that depends on the seed alone."""
    vector = np.random.default_rng(seed).normal(size=dimension)
    return [float(x) for x in vector / np.linalg.norm(vector)]


def row(number: int, *, tenant_id: str = "ws", **changes: Any) -> dict[str, Any]:
    """One index row; ``vector=None`` makes it pending, ``detail=...`` changes its text."""
    memory_id = f"mem-{number:04d}"
    values: dict[str, Any] = {
        "row_key": row_key(tenant_id, memory_id),
        "kind": "memory",
        "tenant_id": tenant_id,
        "memory_id": memory_id,
        "user_id": "u1",
        "client_id": None,
        "audience": None,
        "tier": "recall",
        "type": "concept_clarified",
        "subject": f"concept {number}",
        "detail": f"detail{number} of the ablazione concept",
        "rationale": "",
        "question_context": "",
        "tables": [],
        "concepts": ["ablazione"],
        "decided_at": START + timedelta(days=number),
        "vector": unit(number),
    } | changes
    text = f"{values['subject']} {values['detail']}"
    values["folded"] = fold(text)
    values["text_sha256"] = text_sha256(text)
    whole = json.dumps({k: v for k, v in values.items() if k != "vector"}, default=str)
    values["index_sha256"] = text_sha256(whole)
    return values


class Source:
    """What the registry would offer: a target and the rows behind it; remembers what was asked."""

    def __init__(self, rows: Sequence[dict[str, Any]], dimension: int = DIMENSION) -> None:
        self.by_key = {one["row_key"]: one for one in rows}
        self.dimension = dimension
        self.asked: list[str] = []

    @property
    def target(self) -> pl.DataFrame:
        return pl.DataFrame(
            {
                "row_key": list(self.by_key),
                "index_sha256": [one["index_sha256"] for one in self.by_key.values()],
                "has_vector": [one["vector"] is not None for one in self.by_key.values()],
            },
            schema={"row_key": pl.String, "index_sha256": pl.String, "has_vector": pl.Boolean},
        )

    def rows_for(self, keys: list[str]) -> pa.Table:
        self.asked.extend(keys)
        return pa.Table.from_pylist(
            [self.by_key[key] for key in keys], schema=index_schema(self.dimension)
        )


def source(*numbers: int, **changes: Any) -> Source:
    """A source of plain rows with these numbers."""
    return Source([row(number, **changes) for number in numbers])
