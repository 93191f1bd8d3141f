"""Installations whose embedding is hosted: a real server on loopback stands for each provider."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from memory_assets.domain.visibility import Principal
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.search.types import SearchRequest, SearchResult
from tests.building import close, row
from tests.embedding_server import KEY, EmbeddingServer, Reply
from tests.nights import World

FIRST = "openai:first-model"
SECOND = "voyage:second-model"
TENANT = "clinic"


def down(number: int, body: Mapping[str, Any]) -> Reply:
    """What a provider answers that has failed."""
    return Reply(503, {"error": {"message": "out of order"}})


def dies_on_item(server: EmbeddingServer, item: int) -> None:
    """From the request that holds the ``item``-th text on, the server answers no more."""

    def script(number: int, body: dict[str, Any]) -> Reply | None:
        return down(number, body) if len(server.texts) >= item else None

    server.bodies.clear()
    server.script = script


@dataclass
class Hosted(World):
    """A world that embeds with the first server; the second one is there to fall back on."""

    servers: tuple[EmbeddingServer, EmbeddingServer] | None = None
    more: dict[str, str | None] = field(default_factory=dict)

    @property
    def flags(self) -> dict[str, str | None]:
        """One attempt per request: no test waits."""
        assert self.servers is not None
        first, second = self.servers
        return {
            "home": str(self.home),
            "ledgers": str(self.ledgers),
            "embedding": f"{FIRST}, {SECOND}",
            "embedding_base_url": f"{FIRST}={first.url}, {SECOND}={second.url}",
            "embedding_dimension": f"{FIRST}={first.dimension}, {SECOND}={second.dimension}",
            "embedding_price": "1",
            "embedding_attempts": "1",
            "embedding_timeout_seconds": "5",
            **self.more,
        }

    def again(self, **more: str | None) -> Workspace:
        """The workspace of another process, with other settings from now on."""
        self.more.update(more)
        self.__dict__.pop("workspace", None)
        return self.workspace

    def memories(self, count: int, *, first: int = 1) -> None:
        """So many accepted definitions, in one session."""
        self.tenants(f'[tenants.{TENANT}]\nreview = "automatic"\nlanguage = "en"\n')
        rows = [
            row(seq, subject=f"measure {first + seq}", detail=f"counted by unit {first + seq}")
            for seq in range(1, count + 1)
        ]
        self.session(TENANT, f"s{first}", *rows, close(count + 1))

    def search(self, query: str) -> SearchResult:
        """What a process finds that has just started."""
        workspace = Workspace.load(**self.flags)
        return workspace.search(SearchRequest(query, Principal.local(TENANT), self.now))

    def spaces(self) -> list[tuple[str, int, int]]:
        """(model, rows, pending) of every space of the published generation."""
        current, _ = self.workspace.generations.current()
        return [(s.space.model, s.rows, s.pending) for s in current.spaces]


def hosted_world(
    root: Path,
    servers: tuple[EmbeddingServer, EmbeddingServer],
    monkeypatch: pytest.MonkeyPatch,
) -> Hosted:
    """A world without ledgers yet, with API keys in the environment."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("VOYAGE_API_KEY", KEY)
    return Hosted(root, servers=servers)
