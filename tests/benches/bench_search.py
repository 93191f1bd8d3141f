"""The full hybrid query against a bare LanceDB vector query on the same table, and index recall."""

from __future__ import annotations

import hashlib
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from memory_assets.domain.ports import TextKind, VectorPart, Vectors
from memory_assets.domain.schemas import MEMORIES, USES
from memory_assets.domain.visibility import Principal
from memory_assets.embedding.base import BaseEmbedder
from memory_assets.embedding.cache import SqliteVectorCache
from memory_assets.steps.index.scratch import memory_rows, publish_rows
from memory_assets.steps.search.legs import LegOptions
from memory_assets.steps.search.options import SearchOptions
from memory_assets.steps.search.searcher import Searcher
from memory_assets.steps.search.types import SearchRequest
from memory_assets.steps.tables.frames import frame_of
from memory_assets.storage.generations import GenerationStore

SIZES = tuple(int(n) for n in os.environ.get("BENCH_MEMORIES", "1000,10000,100000").split(","))
QUERIES = int(os.environ.get("BENCH_QUERIES", "60"))
DIMENSION = 384
NOW = datetime(2026, 3, 1, tzinfo=UTC)
WARM_UP = 5


class RandomVectors(BaseEmbedder):
    """A unit vector per text at no cost: embedding the query is not what is timed here."""

    kind_matters = False
    dimension = DIMENSION
    fingerprint = "random"

    def embed_parts(self, texts: Sequence[str], *, kind: TextKind) -> Iterator[VectorPart]:
        """All texts in one part."""
        rows = [_vector(text) for text in texts]
        yield range(len(texts)), np.stack(rows) if rows else np.empty((0, DIMENSION), np.float32)


def run() -> None:
    """Prints p50 and p95 per size, as ratios of the bare query, and the index's recall."""
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            embedder = RandomVectors("bench", "random")
            began = time.perf_counter()
            store = _registry(Path(folder), size, embedder)
            print(f"{size:,} memories: published in {time.perf_counter() - began:.1f} s")
            measure(store, embedder)


def measure(store: GenerationStore, embedder: RandomVectors) -> None:
    """Prints the figures of one registry; the kinds of query take turns."""
    dice = random.Random(2)
    queries = [" ".join(dice.choices(_WORDS, _WEIGHTS, k=5)) for _ in range(QUERIES + WARM_UP)]
    clients = frozenset(f"c{n}" for n in range(50))
    asked = {
        "bare LanceDB vector query": _bare(store, refine=None),
        "  the same with refine 10": _bare(store, refine=10),
        "hybrid, ADMIN": _hybrid(store, embedder, Principal.local("t")),
        "hybrid, ADVISOR of 50 clients": _hybrid(
            store, embedder, Principal("t", "ADVISOR", "u1", clients)
        ),
        "hybrid by legs, ADMIN": _hybrid(
            store, embedder, Principal.local("t"), LegOptions(exact_rows=0)
        ),
    }
    times: dict[str, list[float]] = {name: [] for name in asked}
    for query in queries:
        for name, ask in asked.items():
            began = time.perf_counter()
            ask(query)
            times[name].append((time.perf_counter() - began) * 1000)
    bare = times["bare LanceDB vector query"][WARM_UP:]
    for name, found in times.items():
        measured = found[WARM_UP:]
        print(
            f"  {name:32} p50 {statistics.median(measured):7.1f} ms"
            f"   p95 {_p95(measured):7.1f} ms   p95 ratio {_p95(measured) / _p95(bare):.2f}"
        )
    print(f"  first query of a generation      {times['hybrid, ADMIN'][0]:.0f} ms")
    print(f"  recall@10 of the vector index    {_recall(store, queries):.3f} (goal >= 0.98)")


def _registry(root: Path, size: int, embedder: RandomVectors) -> GenerationStore:
    dice = random.Random(1)
    rows: list[dict[str, Any]] = []
    for number in range(size):
        words = dice.choices(_WORDS, _WEIGHTS, k=24)
        owned = number % 4 == 0
        rows.append(
            {
                "tenant_id": "t",
                "subject": " ".join(words[:3]),
                "detail": " ".join(words[3:]),
                "client_id": f"c{dice.randrange(2_000)}" if owned else None,
                "user_id": f"u{dice.randrange(200)}",
                "audience": None if owned else "tenant",
                "session_id": f"s{number}",
                "decided_at": NOW - timedelta(hours=dice.randrange(24 * 700)),
            }
        )
    uses = [
        ("t", f"s{n}", -1, 0, f"mem-{dice.randrange(size) + 1:04d}", NOW, "anna", 1)
        for n in range(size // 10)
    ]
    tables = {MEMORIES.name: memory_rows(rows, decided_at=NOW), USES.name: frame_of(USES, uses)}
    cache = SqliteVectorCache(root / "vectors.sqlite", 10**9)
    return publish_rows(root, tables, embedder, cache, now=NOW)


def _bare(store: GenerationStore, *, refine: int | None) -> Callable[[str], object]:
    import lancedb

    serving = store.current()[0].serving
    assert serving is not None
    table = lancedb.connect(str(store.home.index)).open_table(serving.table)

    def ask(query: str) -> object:
        search: Any = table.search(_vector(query), vector_column_name="vector")
        search = search.distance_type("cosine").limit(10).select(["row_key", "_distance"])
        return (search.refine_factor(refine) if refine else search).to_arrow()

    return ask


def _hybrid(
    store: GenerationStore,
    embedder: RandomVectors,
    who: Principal,
    legs: LegOptions | None = None,
) -> Callable[[str], object]:
    searcher = Searcher(store, lambda: embedder, SearchOptions(legs=legs or LegOptions()))
    return lambda query: searcher.search(SearchRequest(query, who, NOW))


def _recall(store: GenerationStore, queries: Sequence[str]) -> float:
    serving = store.current()[0].serving
    assert serving is not None
    index = Searcher(store, lambda: RandomVectors("bench", "random"), SearchOptions())
    pinned = index.served().index(serving)
    found = wanted = 0
    for query in queries[:30]:
        exact = set(pinned.vector_search(_vector(query), 10, exact=True)["row_key"])
        found += len(exact & set(pinned.vector_search(_vector(query), 10)["row_key"]))
        wanted += len(exact)
    return found / wanted


def _vector(text: str) -> Vectors:
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
    row = np.random.default_rng(seed).standard_normal(DIMENSION, np.float32)
    return np.asarray(row / np.linalg.norm(row), np.float32)


def _p95(values: Sequence[float]) -> float:
    return sorted(values)[int(0.95 * (len(values) - 1))]


def _vocabulary(count: int) -> list[str]:
    dice = random.Random(3)
    parts = ("ta", "re", "mo", "li", "ca", "ne", "so", "vi", "du", "pa", "gi", "fe")
    words = {"".join(dice.choices(parts, k=dice.randint(2, 4))) for _ in range(count)}
    return sorted(words)


_WORDS = _vocabulary(8_000)
_WEIGHTS = [1 / (rank + 200) for rank in range(len(_WORDS))]

if __name__ == "__main__":
    run()
