"""Published registries for search tests, made from the few fields that a test is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memory_assets.domain.ports import Embedder
from memory_assets.domain.schemas import MEMORIES, TABLES
from memory_assets.domain.visibility import Principal
from memory_assets.embedding.cache import SqliteVectorCache
from memory_assets.embedding.registry import open_embedder
from memory_assets.steps.index.scratch import memory_rows, publish_rows
from memory_assets.steps.search.options import SearchOptions
from memory_assets.steps.search.searcher import Searcher
from memory_assets.steps.search.types import SearchRequest, SearchResult
from memory_assets.steps.tables.frames import frame_of
from memory_assets.storage.generations import GenerationStore
from memory_assets.storage.home import Home

NOW = datetime(2026, 3, 1, tzinfo=UTC)
TENANT = "clinic"
SPEC = "hashed:64"
Row = dict[str, Any]


def memory(subject: str, detail: str = "", *, days_ago: float = 100, **more: Any) -> Row:
    """One row of ``memories``; the tenant is the clinic unless named."""
    row = {
        "tenant_id": TENANT,
        "subject": subject,
        "detail": detail or f"{subject} as agreed",
        "decided_at": NOW - timedelta(days=days_ago),
    }
    return row | more


class Published:
    """A home below one folder, and searches of it on behalf of the tenant's ADMIN."""

    def __init__(self, root: Path, spec: str = SPEC) -> None:
        self.root = root
        self.embedder: Embedder = open_embedder(spec, cache_dir=root / "cache")
        self.cache = SqliteVectorCache(root / "vectors.sqlite", 10**8)
        self.options = SearchOptions()
        self.store = GenerationStore(Home(root / "home"))

    def publish(
        self,
        rows: Sequence[Mapping[str, Any]],
        *,
        embedder: Embedder | None = None,
        languages: Mapping[str, str] | None = None,
        now: datetime = NOW,
        **tables: Sequence[tuple[object, ...]],
    ) -> GenerationStore:
        """The next generation: these memories, and further tables as tuples in column order."""
        frames = {MEMORIES.name: memory_rows(rows, decided_at=NOW)}
        frames |= {name: frame_of(TABLES[name], list(found)) for name, found in tables.items()}
        return publish_rows(
            self.root / "home",
            frames,
            embedder or self.embedder,
            self.cache,
            now=now,
            languages=languages or {},
        )

    @property
    def searcher(self) -> Searcher:
        """A searcher that has nothing open yet."""
        return Searcher(
            self.store, lambda: self.embedder, self.options, ledgers=lambda: self.root / "ledgers"
        )

    def search(self, query: str, principal: Principal | None = None, **more: Any) -> SearchResult:
        """What the query finds, by default for the clinic's ADMIN."""
        who = principal or Principal.local(TENANT)
        return self.searcher.search(SearchRequest(query, who, more.pop("now", NOW), **more))

    def ids(self, query: str, principal: Principal | None = None, **more: Any) -> list[str]:
        """The ids that the query finds, best first."""
        return [hit.memory_id for hit in self.search(query, principal, **more).hits]
