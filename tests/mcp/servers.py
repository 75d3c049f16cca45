"""Servers of the tests as processes, and connections to them."""

from __future__ import annotations

import socket
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.toolspec import Effect
from tests.fleet import wait_until
from tools.definitions.registry import definition_hash
from tools.mcp.connection import McpConnection
from tools.mcp.endpoints import McpEndpoint, PinnedTool
from tools.mcp.guarded_client import guarded_mcp_client
from tools.mcp.listing import definition

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

HERE = Path(__file__).parent
STDIO = (sys.executable, str(HERE / "server.py"), "stdio")


def hostile(way: str) -> McpEndpoint:
    return McpEndpoint(7, way, words=(sys.executable, str(HERE / "hostile.py"), way))


@contextmanager
def http_server(port: int = 0, *options: str) -> Iterator[str]:
    """The SDK's server over HTTP; its URL."""
    if not port:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, str(HERE / "server.py"), str(port), *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: listens(port), seconds=60, what="the MCP server")
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


@asynccontextmanager
async def connected(endpoint: McpEndpoint, seconds: float = 30.0) -> AsyncIterator[McpConnection]:
    http = guarded_mcp_client(allow=parse_allow("127.0.0.1:*"))
    connection = McpConnection(endpoint, http)
    try:
        await connection.open(seconds)
        yield connection
    finally:
        await connection.close()
        await http.aclose()


def pinned(connection: McpConnection, remote_name: str) -> PinnedTool:
    spec = definition(
        connection.offer.tools[remote_name], name=f"x_{remote_name}", effect=Effect.AT_MOST_ONCE
    )
    return PinnedTool(spec.name, remote_name, spec.effect, definition_hash(spec))


def listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
