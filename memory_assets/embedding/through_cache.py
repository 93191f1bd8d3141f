"""Embedding through the cache: what is known is read, what is missing is embedded once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from memory_assets.domain.ports import Embedder, Progress, TextKind, VectorCache, Vectors
from memory_assets.domain.spaces import text_sha256
from memory_assets.errors import BudgetExhausted, EmbeddingError, ProviderUnavailable


@dataclass(frozen=True, slots=True)
class EmbedStats:
    """What one call of ``embed_through_cache`` did.

    ``requested`` texts were ``unique`` ones by hash; of these ``hits`` came from the cache,
    ``computed`` from the model, and ``missing`` are without a vector (then ``problem`` says why).
    """

    requested: int
    unique: int
    hits: int
    computed: int
    missing: int
    tokens: int
    dollars: float
    seconds: float
    problem: EmbeddingError | None = None

    def to_metadata(self) -> dict[str, Any]:
        """Counts and costs, without any content."""
        return {
            "requested": self.requested,
            "unique": self.unique,
            "cache_hits": self.hits,
            "computed": self.computed,
            "missing": self.missing,
            "tokens": self.tokens,
            "dollars": round(self.dollars, 6),
            "seconds": round(self.seconds, 3),
            "problem": "" if self.problem is None else self.problem.code,
        }


def embed_through_cache(
    embedder: Embedder,
    cache: VectorCache,
    texts: Sequence[str],
    *,
    kind: TextKind,
    progress: Progress | None = None,
    allow_missing: bool = False,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[Vectors, EmbedStats]:
    """Vectors of shape (len(texts), dimension) in input order, and what it took to get them.

    Each different text is embedded at most once, and only if the cache lacks it. Parts go into
    the cache as they get done: a kill, or a provider that fails midway, loses none of them. If
    nothing is missing the model is never loaded.

    ``progress`` counts different texts. With ``allow_missing`` a provider that is unavailable, or
    a budget that is used up, ends the work without an error: rows that stay without a vector are
    NaN and are counted in ``missing``.

    Raises:
        EmbeddingError: the model failed; what was done before is in the cache.
    """
    began, spent = clock(), embedder.usage
    hashes = [text_sha256(text) for text in texts]
    first: dict[str, int] = {}
    for position, key in enumerate(hashes):
        first.setdefault(key, position)
    cached_kind: TextKind = kind if embedder.kind_matters else "document"
    known: dict[str, npt.NDArray[np.float32]] = {}
    hits = 0
    problem: EmbeddingError | None = None
    try:
        space_key = embedder.space("").model_key
        found = cache.get(space_key, cached_kind, list(first))
        known |= {k: v for k, v in found.items() if v.shape == (embedder.dimension,)}
        hits = len(known)
        _report(progress, hits, len(first))
        wanted = [key for key in first if key not in known]
        todo = [texts[first[key]] for key in wanted]
        for positions, vectors in embedder.embed_parts(todo, kind=kind) if todo else ():
            done = [wanted[position] for position in positions]
            cache.put(space_key, cached_kind, done, vectors)
            known.update(zip(done, vectors, strict=True))
            _report(progress, len(known), len(first))
    except (ProviderUnavailable, BudgetExhausted) as error:
        if not allow_missing:
            raise
        problem = error

    vectors = np.full((len(texts), embedder.dimension), np.nan, np.float32)
    for position, key in enumerate(hashes):
        if key in known:
            vectors[position] = known[key]
    stats = EmbedStats(
        requested=len(texts),
        unique=len(first),
        hits=hits,
        computed=len(known) - hits,
        missing=len(first) - len(known),
        tokens=embedder.usage.tokens - spent.tokens,
        dollars=embedder.usage.dollars - spent.dollars,
        seconds=clock() - began,
        problem=problem,
    )
    return vectors, stats


def _report(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None:
        progress(done, total)
