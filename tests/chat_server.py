"""A real chat completions server on loopback that answers as a test tells it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[str], Any]
"""The user's text → what the model says: a text, a value to be sent as JSON, or a status."""


def fact(subject: str, detail: str, quote: str, **more: Any) -> dict[str, Any]:
    """One fact as a model writes it."""
    return {"subject": subject, "detail": detail, "quote": quote, **more}


class ChatServer:
    """What was asked, and what is answered."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.bodies: list[dict[str, Any]] = []
        self.url = ""

    @property
    def texts(self) -> list[str]:
        """The texts that were asked about, in order."""
        return [body["messages"][-1]["content"] for body in self.bodies]

    def reply(self, body: dict[str, Any]) -> tuple[int, Any]:
        """(status, JSON) for a request."""
        self.bodies.append(body)
        said = self.answer(body["messages"][-1]["content"])
        if isinstance(said, int):
            return said, {"error": {"message": "told to fail"}}
        content = said if isinstance(said, str) else json.dumps(said)
        return 200, {"choices": [{"message": {"role": "assistant", "content": content}}]}


@contextmanager
def chat_server(answer: Answer) -> Iterator[ChatServer]:
    """A server for the length of a test."""
    server = ChatServer(answer)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            assert self.path == "/v1/chat/completions"
            status, answer = server.reply(body)
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, args=(0.02,))
    thread.start()
    server.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
