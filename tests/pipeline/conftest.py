"""Installations with hosted embedding."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.embedding_server import EmbeddingServer
from tests.providers import Hosted, hosted_world


@pytest.fixture
def servers() -> Iterator[tuple[EmbeddingServer, EmbeddingServer]]:
    """Two providers: 64 and 32 numbers a vector."""
    first, second = EmbeddingServer(), EmbeddingServer()
    second.dimension = 32
    yield first, second
    first.close()
    second.close()


@pytest.fixture
def hosted(
    tmp_path: Path,
    servers: tuple[EmbeddingServer, EmbeddingServer],
    monkeypatch: pytest.MonkeyPatch,
) -> Hosted:
    """A world that embeds with the first provider; the second is its fallback."""
    return hosted_world(tmp_path, servers, monkeypatch)
