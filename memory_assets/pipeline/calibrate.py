"""What turns raw search figures of one generation into terms of the score.

Measured on a fixed sample of the generation's own memories, so equal registries calibrate alike.
"""

from __future__ import annotations

import hashlib
from typing import Final

import numpy as np
import polars as pl

from memory_assets.domain.ranking import Calibration
from memory_assets.domain.text import fold_query
from memory_assets.storage.index_pinned import PinnedIndex
from memory_assets.storage.index_schema import equals, row_key

SAMPLED: Final = 400
ASKED: Final = 40
ENOUGH: Final = 20
"""Memories below which the defaults are kept: a handful says nothing about unrelated texts."""


def calibrate(index: PinnedIndex, active: pl.DataFrame) -> Calibration:
    """The calibration of one index version.

    Cosine: what two memories picked at random have counts as nothing, and equal texts as one. Text:
    the score of the best other memory, for questions that memories came from, counts as one half.
    """
    default = Calibration()
    if active.height < ENOUGH:
        return default
    sample = _sample(active)
    keys = [row_key(*key) for key in sample.select("tenant_id", "memory_id").iter_rows()]
    low = _unrelated_cosine(index, keys)
    k = _usual_text_score(index, sample, active)
    return Calibration(
        text_k=default.text_k if k is None else k,
        cosine_low=default.cosine_low if low is None else low,
        cosine_high=default.cosine_high,
    )


def _sample(active: pl.DataFrame) -> pl.DataFrame:
    """The memories whose key's hash is smallest: at random, but the same ones next time."""
    keys = active.select(pl.concat_str("tenant_id", "memory_id", separator="/")).to_series()
    digests = [hashlib.sha256(key.encode()).hexdigest() for key in keys.to_list()]
    return (
        active.with_columns(pl.Series("_digest", digests)).sort("_digest").head(SAMPLED)
    )


def _unrelated_cosine(index: PinnedIndex, keys: list[str]) -> float | None:
    _, vectors = index.vectors(keys)
    if len(vectors) < ENOUGH:
        return None
    pairs = (vectors @ vectors.T)[np.triu_indices(len(vectors), 1)]
    return round(float(np.median(pairs)), 4)


def _usual_text_score(
    index: PinnedIndex, sample: pl.DataFrame, active: pl.DataFrame
) -> float | None:
    """The median over questions of the best score in the tenant that is not of the own session."""
    sessions = active.select(
        pl.concat_str("tenant_id", "memory_id", separator="/").alias("row_key"), "session_id"
    )
    best = []
    for row in sample.head(ASKED).iter_rows(named=True):
        asked = row["question_context"] or row["subject"]
        where = equals("tenant_id", row["tenant_id"])
        found = index.text_search(fold_query(asked), 20, where)
        others = found.join(sessions, on="row_key").filter(
            pl.col("session_id") != row["session_id"]
        )
        if others.height:
            best.append(float(others["bm25"].max()))  # type: ignore[arg-type]
    return round(float(np.median(best)), 3) if len(best) >= ENOUGH // 2 else None
