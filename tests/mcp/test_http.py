"""R16 over HTTP: a server that misbehaves in the middle of a session."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from heartbit_site.base.http.allow import parse_allow
from tests.mcp.servers import connected, pinned
from tools.mcp.endpoints import McpEndpoint
from tools.mcp.errors import McpError, SessionEndedError
from tools.mcp.pool import McpPool

if TYPE_CHECKING:
    from collections.abc import Iterator

GOOD = {"name": "good", "description": "Be good.", "inputSchema": {"type": "object"}}
JSON = ("Content-Type", "application/json")


class Server(ThreadingHTTPServer):
    """A server of sessions: each call goes wrong in one way, in sessions up to ``bad_until``."""

    daemon_threads = True

    def __init__(self, way: str, bad_until: int) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.way, self.bad_until, self.sessions = way, bad_until, 0

    @property
    def endpoint(self) -> McpEndpoint:
        return McpEndpoint(9, "shop", url=f"http://127.0.0.1:{self.server_port}/mcp")


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        number, method = said.get("id"), said["method"]
        if number is None:
            self.answer(202, b"")
        elif method == "initialize":
            self.server.sessions += 1
            result = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "shop", "version": "0"},
            }
            session = ("Mcp-Session-Id", str(self.server.sessions))
            self.result(number, result, JSON, session)
        elif method == "tools/list":
            self.result(number, {"tools": [GOOD]}, JSON)
        elif method != "tools/call":
            error = {"code": -32601, "message": "Unknown method"}
            text = {"jsonrpc": "2.0", "id": number, "error": error}
            self.answer(200, json.dumps(text).encode(), JSON)
        elif int(self.headers["Mcp-Session-Id"]) <= self.server.bad_until:
            self.misbehave(number)
        else:
            self.result(number, {"content": [{"type": "text", "text": "good"}]}, JSON)

    def misbehave(self, number: int) -> None:
        match self.server.way:
            case "gone":
                self.answer(404, b"")
            case "broken":
                self.answer(500, b"<h1>no</h1>", ("Content-Type", "text/html"))
            case "cut":
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                self.wfile.write(b'event: message\ndata: {"jsonrpc": "2.0", "id"')
                self.close_connection = True
            case "flood":
                text = "x" * 20_000_000
                self.result(number, {"content": [{"type": "text", "text": text}]}, JSON)
            case "redirect":
                self.answer(307, b"", ("Location", "http://169.254.169.254/latest"))

    def do_GET(self) -> None:
        self.answer(405, b"")

    def do_DELETE(self) -> None:
        self.answer(200, b"")

    def result(self, number: int, result: dict[str, Any], *headers: tuple[str, str]) -> None:
        text = {"jsonrpc": "2.0", "id": number, "result": result}
        self.answer(200, json.dumps(text).encode(), *headers)

    def answer(self, status: int, body: bytes, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except ConnectionError:
            self.close_connection = True

    def log_message(self, *_: Any) -> None:
        return


@contextmanager
def serving(way: str, bad_until: int = 10**6) -> Iterator[Server]:
    with Server(way, bad_until) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()


@pytest.mark.parametrize("way", ["broken", "cut", "flood", "redirect"])
async def test_a_call_that_goes_wrong_is_a_sentence(way: str) -> None:
    with serving(way) as server:
        async with connected(server.endpoint) as connection:
            good = pinned(connection, "good")
            with pytest.raises(McpError) as failed:
                await connection.call(good, {}, key="k", seconds=3)
    assert "shop" in str(failed.value)
    assert len(str(failed.value)) < 1_000


async def test_a_session_that_the_server_forgot_is_begun_anew() -> None:
    with serving("gone", bad_until=2) as server:
        async with connected(server.endpoint) as connection:
            good = pinned(connection, "good")
            with pytest.raises(SessionEndedError):
                await connection.call(good, {}, key="k", seconds=3)
        pool = McpPool(allow=parse_allow("127.0.0.1:*"))
        try:
            assert await pool.call(server.endpoint, good, {}, key="k", seconds=20) == "good"
        finally:
            await pool.aclose()
        assert server.sessions == 3
