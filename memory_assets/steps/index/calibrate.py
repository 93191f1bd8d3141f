"""What turns raw search figures of one generation into terms of the score.

Measured on a fixed sample of the generation's own memories, so equal registries calibrate alike.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
import polars as pl

from memory_assets.domain.ports import Embedder, VectorCache, Vectors
from memory_assets.domain.ranking import Calibration
from memory_assets.domain.text import fold_query
from memory_assets.embedding.through_cache import embed_through_cache
from memory_assets.errors import EmbeddingError
from memory_assets.storage.index_pinned import PinnedIndex
from memory_assets.storage.index_schema import equals, row_key

SAMPLED: Final = 400
ASKED: Final = 40
AT_ONCE: Final = 4
UNRELATED: Final = 0.1
ENOUGH: Final = 20
"""Memories below which the defaults are kept: a handful says nothing about unrelated texts."""


def calibrate(
    index: PinnedIndex, active: pl.DataFrame, embedder: Embedder, cache: VectorCache
) -> Calibration:
    """The calibration of one index version.

    Cosine: what nine in ten pairs of a question and a random memory exceed counts as nothing, equal
    texts count as one. Lower than the usual random pair, so that the order of the less similar is
    kept; and questions instead of memories, since models that tell the two apart put them at other
    distances. Text: the score of the best memory from another session, for questions that memories
    came from, counts as one half.
    """
    default = Calibration()
    if active.height < ENOUGH:
        return default
    sample = _sample(active)
    asked = sample.head(ASKED)
    low = _unrelated_cosine(index, sample, asked, embedder, cache)
    k = _usual_text_score(index, asked, active)
    return Calibration(
        text_k=default.text_k if k is None else k,
        cosine_low=default.cosine_low if low is None else low,
        cosine_high=default.cosine_high,
    )


def _sample(active: pl.DataFrame) -> pl.DataFrame:
    """The memories whose key's hash is smallest: at random, but the same ones next time."""
    keys = active.select(pl.concat_str("tenant_id", "memory_id", separator="/")).to_series()
    digests = [hashlib.sha256(key.encode()).hexdigest() for key in keys.to_list()]
    ordered = active.with_columns(pl.Series("digest", digests)).sort("digest").head(SAMPLED)
    texts = (pl.col(name).str.strip_chars() for name in ("question_context", "subject", "detail"))
    return ordered.with_columns(
        pl.coalesce(pl.when(text != "").then(text) for text in texts)
        .fill_null("")
        .alias("question")
    )


def _unrelated_cosine(
    index: PinnedIndex,
    sample: pl.DataFrame,
    asked: pl.DataFrame,
    embedder: Embedder,
    cache: VectorCache,
) -> float | None:
    keys = [row_key(*key) for key in sample.select("tenant_id", "memory_id").iter_rows()]
    _, memories = index.vectors(keys)
    if len(memories) < ENOUGH:
        return None
    questions = _embedded(asked["question"].to_list(), embedder, cache)
    if questions is None:
        return None
    return round(float(np.quantile(questions @ memories.T, UNRELATED)), 4)


def _embedded(texts: list[str], embedder: Embedder, cache: VectorCache) -> Vectors | None:
    """The vectors of the questions; None when the model cannot be had just now."""
    try:
        vectors, _ = embed_through_cache(embedder, cache, texts, kind="query", allow_missing=True)
    except EmbeddingError:
        return None
    present = vectors[np.isfinite(vectors).all(axis=1)]
    return present if len(present) else None


def _usual_text_score(
    index: PinnedIndex, asked: pl.DataFrame, active: pl.DataFrame
) -> float | None:
    """The median over questions of the best score in the tenant that is not of the own session."""
    sessions = active.select(
        pl.concat_str("tenant_id", "memory_id", separator="/").alias("row_key"), "session_id"
    )

    def ask(row: tuple[str, str, str]) -> float | None:
        tenant, session, question = row
        found = index.text_search(fold_query(question), 20, equals("tenant_id", tenant))
        others = found.join(sessions, on="row_key").filter(pl.col("session_id") != session)
        return float(others["bm25"].to_numpy().max()) if others.height else None

    # The engine works outside Python's lock: side by side the questions cost a third less.
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = pool.map(ask, asked.select("tenant_id", "session_id", "question").iter_rows())
        best = [score for score in answers if score is not None]
    return round(float(np.median(best)), 3) if len(best) >= ENOUGH // 2 else None
