"""The pair search against a bare blocked GEMM; by cells against exact; new against existing.

With the folder of :mod:`tests.benches.data` the vectors are embeddings of its real definitions
(``BENCH_MERGE_EMBEDDING`` names the model, ``BENCH_MERGE_CACHE`` a folder that keeps the vectors);
without it they are synthetic families. ``BENCH_MERGE_ROWS`` lists the sizes.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import random
import resource
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np

from memory_assets.domain.ports import Vectors
from memory_assets.domain.spaces import definition_text
from memory_assets.embedding.cache import SqliteVectorCache
from memory_assets.embedding.registry import open_embedder
from memory_assets.embedding.through_cache import embed_through_cache
from memory_assets.steps.merge.pairs import (
    Pairs,
    RecallMeter,
    approximate_pairs,
    exact_pairs,
    make_cells,
    plan_blocks,
)
from tests.benches.data import DATA

ROWS: Final = tuple(int(n) for n in os.environ.get("BENCH_MERGE_ROWS", "10000,20000").split(","))
EMBEDDING: Final = os.environ.get("BENCH_MERGE_EMBEDDING", "hashed:256")
CACHE: Final = os.environ.get("BENCH_MERGE_CACHE", "")
THRESHOLD: Final = float(os.environ.get("BENCH_MERGE_THRESHOLD", "0.92"))
NEW: Final = 2_000
_SOURCES: Final = ("semantic_layer", "italia_ontologie", "wordnet")
_SEED: Final = 7


@dataclass(frozen=True, slots=True)
class Timing:
    """One size: CPU seconds of each way, and what they found."""

    rows: int
    gemm: float
    exact: float
    pairs: int
    cells: float
    recall: float
    extra_mb: float
    """Peak memory that the exact search allocated, the vectors themselves not counted."""


def run() -> None:
    """Prints the figures; CPU seconds, so that a busy machine does not count."""
    vectors, what = load(max(*ROWS, 0) + NEW)
    print(
        f"{len(vectors):,} vectors of dimension {vectors.shape[1]}: {what}; cosine >= {THRESHOLD}"
    )
    timings = [measure(vectors[:n]) for n in ROWS if n <= len(vectors)]
    print("   rows   bare GEMM   exact (ratio)     pairs   by cells (of exact)  recall  extra MB")
    for t in timings:
        print(
            f"{t.rows:>7,}  {t.gemm:>8.2f} s  {t.exact:>6.2f} s ({t.exact / t.gemm:4.2f})  "
            f"{t.pairs:>8,}  {t.cells:>8.2f} s ({t.cells / t.exact:4.2f})  {t.recall:7.4f}  "
            f"{t.extra_mb:>6.0f}"
        )
    for earlier, later in pairwise(timings):
        exact, cells = (growth(earlier, later, what) for what in ("exact", "cells"))
        print(f"growth {earlier.rows:,} to {later.rows:,}: exact {exact:.2f}, by cells {cells:.2f}")
    incremental(vectors)


def growth(earlier: Timing, later: Timing, what: str) -> float:
    """The exponent e of rows**e between two sizes."""
    ratio = getattr(later, what) / getattr(earlier, what)
    return math.log(ratio) / math.log(later.rows / earlier.rows)


def measure(vectors: Vectors) -> Timing:
    """One size, each way once; the bare product runs over the very same blocks."""
    n = len(vectors)
    gemm, _ = timed(lambda: bare(vectors))
    tracemalloc.start()
    exact, pairs = timed(lambda: drained(exact_pairs(vectors, THRESHOLD)))
    extra = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    meter = RecallMeter(vectors, THRESHOLD, seed=_SEED)

    def by_cells() -> int:
        cells = make_cells(vectors, seed=_SEED)
        return drained(meter.see(c) for c in approximate_pairs(vectors, THRESHOLD, cells))

    cells, _ = timed(by_cells)
    return Timing(n, gemm, exact, pairs, cells, meter.recall, extra)


def incremental(vectors: Vectors) -> None:
    """New rows against all existing ones: what a night costs."""
    if len(vectors) <= 2 * NEW:
        return
    spent, pairs = timed(lambda: drained(exact_pairs(vectors, THRESHOLD, fresh=NEW)))
    bare_spent, _ = timed(lambda: bare(vectors, fresh=NEW))
    print(
        f"{NEW:,} new x {len(vectors) - NEW:,} existing, exact: {spent:.2f} CPU s, "
        f"{spent / bare_spent:.2f} of a bare GEMM, {pairs:,} pairs; peak memory {peak_mb():,.0f} MB"
    )


def bare(vectors: Vectors, fresh: int | None = None) -> int:
    """The products of the same blocks, and nothing else."""
    done = 0
    for left, right in plan_blocks(len(vectors), fresh=fresh):
        done += (vectors[left] @ vectors[right].T).shape[0]
    return done


def drained(chunks: object) -> int:
    """Number of pairs in the chunks, which are let go as they come: as when they go to disk."""
    assert hasattr(chunks, "__iter__")
    total = 0
    for chunk in chunks:
        assert isinstance(chunk, Pairs)
        total += len(chunk)
    return total


def timed(work: Callable[[], int]) -> tuple[float, int]:
    """CPU seconds of the work, and its result."""
    began = time.process_time()
    found = work()
    return time.process_time() - began, found


def peak_mb() -> float:
    """Highest resident memory of this process so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def load(rows: int) -> tuple[Vectors, str]:
    """Vectors for the measurement, and what they are."""
    texts = definitions(rows)
    if len(texts) < min(rows, 1_000):
        return synthetic(rows), "synthetic families"
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(CACHE or scratch)
        embedder = open_embedder(EMBEDDING, cache_dir=folder)
        with_cache = SqliteVectorCache(folder / "v.sqlite", 20_000_000_000)
        vectors, stats = embed_through_cache(embedder, with_cache, texts, kind="document")
    return vectors, f"{EMBEDDING} of real definitions, {stats.computed:,} embedded now"


def definitions(rows: int) -> list[str]:
    """Real definitions in a fixed random order, each once; none without the data folder."""
    found: dict[str, None] = {}
    for name in _SOURCES:
        path = DATA / "definitions" / f"{name}.jsonl.gz"
        if not path.exists():
            return []
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                found[definition_text(subject=row["term"], detail=row["text"])] = None
    texts = list(found)
    random.Random(20_240).shuffle(texts)
    return texts[:rows]


def synthetic(rows: int, dimension: int = 384) -> Vectors:
    """Unit vectors in families of a few near ones, for machines without the data."""
    draw = np.random.default_rng(_SEED)
    centres = draw.standard_normal((max(1, rows // 5), dimension)).astype(np.float32)
    found = centres[draw.integers(len(centres), size=rows)]
    found = found + 0.25 * draw.standard_normal((rows, dimension), dtype=np.float32)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return np.asarray(found, dtype=np.float32)


if __name__ == "__main__":
    run()
