"""Active memories → the rows and keys that the search index must hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import polars as pl
import pyarrow as pa

from memory_assets.domain.keys import row_key
from memory_assets.domain.ports import Vectors
from memory_assets.domain.spaces import search_text, text_sha256
from memory_assets.domain.text import FOLD_VERSION, fold
from memory_assets.storage.index_schema import COLUMNS, KIND, index_schema, index_sha256

_COPIED: Final = (
    "tenant_id memory_id user_id client_id audience tier type subject detail rationale "
    "question_context tables concepts decided_at"
).split()


class IndexRows:
    """What the index must hold for a set of active memories, worked out once."""

    def __init__(self, active: pl.DataFrame, languages: Mapping[str, str]) -> None:
        """``active`` has the columns of ``memories`` and ``tier``; languages are per tenant."""
        self._languages = languages
        self._rows: dict[str, dict[str, Any]] = {}
        self.texts: dict[str, str] = {}
        """row_key → the text whose vector the row carries (recipe ``search``)."""
        for memory in active.iter_rows(named=True):
            key = row_key(memory["tenant_id"], memory["memory_id"])
            row = {name: memory[name] for name in _COPIED}
            text = search_text(
                type=row["type"],
                subject=row["subject"],
                detail=row["detail"],
                rationale=row["rationale"],
                question_context=row["question_context"],
                concepts=row["concepts"],
                tables=row["tables"],
            )
            row |= {"row_key": key, "kind": KIND, "text_sha256": text_sha256(text)}
            # Folding is slow and decided by text and language: the hash takes these instead.
            row["folded"] = f"{FOLD_VERSION} {languages.get(memory['tenant_id'])}"
            row["index_sha256"] = index_sha256(row)
            self._rows[key] = row
            self.texts[key] = text

    def keys(self, without_vector: frozenset[str] = frozenset()) -> pl.DataFrame:
        """row_key, index_sha256, has_vector of every row."""
        return pl.DataFrame(
            [(k, r["index_sha256"], k not in without_vector) for k, r in self._rows.items()],
            schema={"row_key": pl.String, "index_sha256": pl.String, "has_vector": pl.Boolean},
            orient="row",
        )

    def table(self, keys: Sequence[str], vectors: Mapping[str, Vectors], dimension: int) -> pa.Table:
        """Full rows of these keys in the columns of the index; a missing vector is null."""
        schema = index_schema(dimension)
        rows = [{**self._rows[k], "folded": self._fold(k)} for k in keys]
        columns = {
            name: pa.array([r[name] for r in rows], schema.field(name).type)
            for name in COLUMNS
            if name != "vector"
        }
        columns["vector"] = _vector_column([vectors.get(k) for k in keys], dimension)
        return pa.table([columns[name] for name in COLUMNS], schema=schema)

    def _fold(self, key: str) -> str:
        return fold(self.texts[key], _language(self._languages, self._rows[key]["tenant_id"]))


def _vector_column(vectors: Sequence[Vectors | None], dimension: int) -> pa.Array:
    """Fixed-size lists without a Python float in between: thirty times faster for 384 columns."""
    if not vectors:
        return pa.array([], pa.list_(pa.float32(), dimension))
    zero = np.zeros(dimension, np.float32)
    flat = np.concatenate([zero if v is None else v for v in vectors])
    mask = pa.array([v is None for v in vectors])
    return pa.FixedSizeListArray.from_arrays(pa.array(flat), dimension, mask=mask)


def _language(languages: Mapping[str, str], tenant_id: str) -> Any:
    return languages.get(tenant_id)
