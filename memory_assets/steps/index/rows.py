"""Active memories → the rows and keys that the search index must hold."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
import polars as pl
import pyarrow as pa

from memory_assets.domain.keys import row_key
from memory_assets.domain.language import DETECT_VERSION, row_language
from memory_assets.domain.ports import Vectors
from memory_assets.domain.spaces import SEARCH_RECIPE, search_text, text_sha256
from memory_assets.domain.text import FOLD_VERSION, fold
from memory_assets.storage.index_schema import COLUMNS, KIND, index_schema

COPIED: Final = (
    *("tenant_id", "memory_id", "user_id", "client_id", "audience", "tier", "type", "subject"),
    *("detail", "rationale", "question_context", "tables", "concepts", "decided_at"),
)
"""Columns of an index row that are those of its memory."""
_OWN: Final = ("tenant_id", "memory_id", "user_id", "client_id", "audience", "tier")


class IndexRows:
    """What the index must hold for a set of active memories.

    Keys and hashes are worked out for all of them at once; texts and full rows only for those that
    are asked for, since a night changes few.
    """

    def __init__(self, active: pl.DataFrame, languages: Mapping[str, str]) -> None:
        """``active`` has the columns of ``memories`` and ``tier``; languages are per tenant."""
        self._languages = languages
        self._active = active.with_columns(
            pl.concat_str("tenant_id", "memory_id", separator="/").alias("row_key")
        )
        self._hashes = _hashes(self._active, languages)

    @cached_property
    def all_keys(self) -> frozenset[str]:
        """The row keys of all rows."""
        return frozenset(self._active["row_key"].to_list())

    def keys(self, without_vector: frozenset[str] = frozenset()) -> pl.DataFrame:
        """row_key, index_sha256, has_vector of every row."""
        has_vector = ~pl.col("row_key").is_in(sorted(without_vector))
        return self._active.select(
            "row_key", self._hashes.alias("index_sha256"), has_vector.alias("has_vector")
        )

    def copied(self) -> pl.DataFrame:
        """row_key and the columns that every row has straight from its memory."""
        return self._active.select("row_key", *COPIED)

    def texts(self, keys: Sequence[str]) -> list[str]:
        """The texts whose vectors these rows carry (recipe ``search``), in the order of keys."""
        return [_text(row) for row in self._rows(keys)]

    def table(
        self, keys: Sequence[str], vectors: Mapping[str, Vectors], dimension: int
    ) -> pa.Table:
        """Full rows of these keys in the columns of the index; a missing vector is null."""
        schema = index_schema(dimension)
        rows = [self._full(row) for row in self._rows(keys)]
        columns = {
            name: pa.array([r[name] for r in rows], schema.field(name).type)
            for name in COLUMNS
            if name != "vector"
        }
        columns["vector"] = _vector_column([vectors.get(k) for k in keys], dimension)
        return pa.table([columns[name] for name in COLUMNS], schema=schema)

    def _rows(self, keys: Sequence[str]) -> list[dict[str, Any]]:
        wanted = pl.DataFrame({"row_key": list(keys)}, schema={"row_key": pl.String})
        active = self._active.with_columns(self._hashes.alias("index_sha256"))
        return wanted.join(active, on="row_key", how="inner", maintain_order="left").to_dicts()

    def _full(self, memory: dict[str, Any]) -> dict[str, Any]:
        text = _text(memory)
        language = row_language(text, self._languages.get(memory["tenant_id"]))
        return {
            **{name: memory[name] for name in COPIED},
            "row_key": row_key(memory["tenant_id"], memory["memory_id"]),
            "kind": KIND,
            "text_sha256": text_sha256(text),
            "folded": fold(text, language),
            "index_sha256": memory["index_sha256"],
        }


def _hashes(active: pl.DataFrame, languages: Mapping[str, str]) -> pl.Series:
    """Hash of all that decides an index row but its vector.

    The content hash stands for the content, and the versions of recipe and folding for the texts
    made of it: so nothing slow is done for a row that did not change.
    """
    own = [pl.col(name).fill_null("\x00") for name in _OWN]
    language = pl.col("tenant_id").replace_strict(
        pl.Series(list(languages), dtype=pl.String),
        pl.Series(list(languages.values()), dtype=pl.String),
        default="",
    )
    whole = active.select(
        pl.concat_str(
            *own,
            "content_sha256",
            pl.col("decided_at").dt.epoch("us").cast(pl.String),
            language,
            pl.lit(f"{SEARCH_RECIPE} fold-{FOLD_VERSION} detect-{DETECT_VERSION}"),
            separator="\x1f",
        )
    ).to_series()
    digests = [hashlib.sha256(text.encode()).hexdigest() for text in whole.to_list()]
    return pl.Series("index_sha256", digests, dtype=pl.String)


def _text(memory: Mapping[str, Any]) -> str:
    return search_text(
        type=memory["type"],
        subject=memory["subject"],
        detail=memory["detail"],
        rationale=memory["rationale"],
        question_context=memory["question_context"],
        concepts=memory["concepts"],
        tables=memory["tables"],
    )


def _vector_column(vectors: Sequence[Vectors | None], dimension: int) -> pa.Array:
    """Fixed-size lists without a Python float in between: thirty times faster for 384 columns."""
    if not vectors:
        return pa.array([], pa.list_(pa.float32(), dimension))
    zero = np.zeros(dimension, np.float32)
    flat = np.concatenate([zero if v is None else v for v in vectors])
    mask = pa.array([v is None for v in vectors])
    return pa.FixedSizeListArray.from_arrays(pa.array(flat), dimension, mask=mask)
