"""A real embeddings server on loopback that fails as told."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

KEY = "sk-loopback-0123456789abcdef"


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
