"""A provider's list of models, on a port of its own: real HTTP, with the faults a test asks for."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from agents.llm.providers import PROVIDERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest


@dataclass(frozen=True)
class Reply:
    """What is answered; ``hang`` sends the head and then nothing until the server ends."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "application/json"})
    hang: bool = False


def models(*names: str) -> Reply:
    """The list as OpenAI writes it."""
    data = [{"id": name, "object": "model"} for name in names]
    return Reply(body=json.dumps({"object": "list", "data": data}).encode())


def refusal(status: int, message: str) -> Reply:
    """An error as OpenAI writes it."""
    return Reply(status, json.dumps({"error": {"message": message}}).encode())


@dataclass
class Seen:
    """The server, and what it was asked: path and headers, in order."""

    url: str
    port: int
    replies: dict[str, Reply]
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)


@contextmanager
def provider_server(replies: dict[str, Reply] | Reply) -> Iterator[Seen]:
    """Answer GET requests by their path without the query; anything else is HTTP 404."""
    over = threading.Event()
    routes = {"/v1/models": replies} if isinstance(replies, Reply) else replies

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            seen.requests.append((self.path, headers))
            reply = seen.replies.get(self.path.partition("?")[0], refusal(404, "no such path"))
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(reply.body) + reply.hang))
            self.end_headers()
            self.wfile.write(reply.body)
            self.wfile.flush()
            if reply.hang:
                over.wait()
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    port = server.server_address[1]
    seen = Seen(f"http://127.0.0.1:{port}/v1", port, routes)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def key_in_environment(monkeypatch: pytest.MonkeyPatch, key: str) -> Iterator[Seen]:
    """A provider whose key is the only one in the environment."""
    for each in PROVIDERS.values():
        monkeypatch.delenv(each.key_env or "NOTHING", raising=False)
    with provider_server(models("gpt-6-sol")) as server:
        monkeypatch.setenv("OPENAI_API_KEY", key)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server
