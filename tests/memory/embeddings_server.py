"""A server of OpenAI-compatible embeddings: the remote model, at the wire."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class EmbeddingsServer(ThreadingHTTPServer):
    """Answers with one dimension for each of its topics, whose words a text may have.

    Attributes:
        asked: Bodies of the requests, with their key.
        broken: Answer of every request instead, as status and body; None: it works.
        most_texts: Texts of a request that it takes.
        most_characters: Characters of a text that it takes.
    """

    topics: tuple[tuple[str, ...], ...] = (
        ("tea", "drink", "beverage"),
        ("invoice", "money"),
        ("Oslo", "city"),
    )

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.broken: tuple[int, bytes] | None = None
        self.most_texts, self.most_characters = 1_000, 1_000_000

    @property
    def url(self) -> str:
        """Base URL for a provider account."""
        return f"http://127.0.0.1:{self.server_port}/v1"

    @property
    def texts(self) -> list[str]:
        """Texts of all requests."""
        return [text for _, body in self.asked for text in body["input"]]

    def refuses(self, texts: list[str]) -> bool:
        """Return True if these texts are too many or one is too long, as real servers refuse."""
        longest = max(map(len, texts))
        return len(texts) > self.most_texts or longest > self.most_characters

    def embed(self, text: str) -> list[float]:
        """Return a text's vector."""
        return [0.1 + sum(word in text for word in words) for words in self.topics]


class _Handler(BaseHTTPRequestHandler):
    server: EmbeddingsServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append((self.headers.get("authorization", ""), body))
        data = [
            {"index": place, "embedding": self.server.embed(text)}
            for place, text in reversed(list(enumerate(body["input"])))
        ]
        status, answer = self.server.broken or (200, json.dumps({"data": data}).encode())
        if self.server.refuses(body["input"]):
            status, answer = 400, b'{"error": {"message": "invalid input"}}'
        self.send_response(status)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Write nothing."""


@contextmanager
def running() -> Iterator[EmbeddingsServer]:
    """Serve until the block ends."""
    with EmbeddingsServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
