"""Connections that a process keeps: shared, renewed, and kept apart by credential."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import tempfile
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.toolspec import Effect
from tests.mcp.servers import STDIO, connected, hostile, http_server, pinned
from tools.mcp.endpoints import McpEndpoint, PinnedTool
from tools.mcp.errors import McpConnectionError, McpError
from tools.mcp.pool import FAILURES, McpPool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

SECONDS = 30.0


@pytest.fixture
async def pool() -> AsyncIterator[McpPool]:
    pool = McpPool(allow=parse_allow("127.0.0.1:*"))
    yield pool
    await pool.aclose()


async def tool_of(endpoint: McpEndpoint, name: str) -> PinnedTool:
    async with connected(endpoint) as connection:
        return pinned(connection, name)


async def test_calls_share_a_connection(pool: McpPool) -> None:
    shop = McpEndpoint(1, "shop", words=STDIO)
    tool = await tool_of(shop, "environment")
    calls = [pool.call(shop, tool, {}, key=f"{n}", seconds=SECONDS) for n in range(8)]
    homes = {json.loads(str(text))["cwd"] for text in await asyncio.gather(*calls)}
    assert len(homes) == 1


async def test_a_change_that_is_said_hundreds_of_times_is_noted_once(
    pool: McpPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: list[int] = []
    answered = threading.Event()

    def note(server_id: int) -> None:
        noted.append(server_id)
        assert answered.wait(SECONDS)

    monkeypatch.setattr("tools.mcp.pool._mark", note)
    endpoint = hostile("changes")
    tool = await tool_of(endpoint, "good")
    try:
        assert await pool.call(endpoint, tool, {}, key="1", seconds=SECONDS)
        async with asyncio.timeout(SECONDS):
            while not noted:
                await asyncio.sleep(0.01)
        assert noted == [7]  # what was said while that one is noted is noted once more after it
    finally:
        answered.set()


async def test_an_unused_connection_is_closed_and_another_opened() -> None:
    pool = McpPool(idle_seconds=0.2)
    shop = McpEndpoint(1, "shop", words=STDIO)
    tool = await tool_of(shop, "environment")
    first = json.loads(str(await pool.call(shop, tool, {}, key="1", seconds=SECONDS)))["cwd"]
    async with asyncio.timeout(SECONDS):
        while Path(first).exists():
            await asyncio.sleep(0.05)
    assert (
        json.loads(str(await pool.call(shop, tool, {}, key="2", seconds=SECONDS)))["cwd"] != first
    )
    await pool.aclose()


async def test_credentials_keep_connections_apart(pool: McpPool) -> None:
    with http_server() as url:
        ends = [McpEndpoint(1, "shop", url=url, headers=(("X-Key", key),)) for key in ("a", "b")]
        tool = await tool_of(ends[0], "header")
        calls = [
            pool.call(ends[n % 2], tool, {"name": "x-key"}, key=f"{n}", seconds=SECONDS)
            for n in range(10)
        ]
        assert await asyncio.gather(*calls) == ["a", "b"] * 5
    assert "X-Key" not in repr(ends[0])  # nor in a log


async def test_a_server_that_was_restarted_is_called_anew(pool: McpPool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    shop = McpEndpoint(1, "shop", url=f"http://127.0.0.1:{port}/mcp")
    with http_server(port):
        tool = await tool_of(shop, "echo")
        assert await pool.call(shop, tool, {"text": "a"}, key="1", seconds=SECONDS) == "a"
    with pytest.raises(McpConnectionError):
        await pool.call(shop, tool, {"text": "b"}, key="2", seconds=SECONDS)
    with http_server(port):
        assert await pool.call(shop, tool, {"text": "c"}, key="3", seconds=SECONDS) == "c"


async def test_a_server_that_keeps_failing_is_left_alone(pool: McpPool) -> None:
    bad = hostile("start")
    tool = PinnedTool("x", "x", Effect.PURE, "0" * 64)
    for number in range(FAILURES):
        with pytest.raises(McpConnectionError, match="no licence"):
            await pool.call(bad, tool, {}, key=f"{number}", seconds=SECONDS)
    with pytest.raises(McpError, match="failed 5 times in a row"):
        await pool.call(bad, tool, {}, key="6", seconds=SECONDS)


async def test_a_tool_s_own_errors_are_no_failures_of_the_server(pool: McpPool) -> None:
    shop = McpEndpoint(1, "shop", words=STDIO)
    tool = await tool_of(shop, "fail")
    for number in range(FAILURES + 1):
        with pytest.raises(McpError, match="Error executing tool fail"):
            await pool.call(shop, tool, {"why": "x"}, key=f"{number}", seconds=SECONDS)


async def test_a_cancelled_call_leaves_the_connection_usable(pool: McpPool) -> None:
    shop = McpEndpoint(1, "shop", words=STDIO)
    slow, echo = await tool_of(shop, "slow"), await tool_of(shop, "echo")
    call = asyncio.create_task(pool.call(shop, slow, {"seconds": 60}, key="1", seconds=SECONDS))
    assert await pool.call(shop, echo, {"text": "a"}, key="2", seconds=SECONDS) == "a"
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await pool.call(shop, echo, {"text": "b"}, key="3", seconds=SECONDS) == "b"


PROGRAM = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("shop")
@server.tool()
def add(a: int, b: int) -> str:
    "{says}"
    return "{says}"
@server.tool()
def wait() -> str:
    "Wait."
    import time
    time.sleep(2)
    return "waited"
server.run("stdio")
"""


@pytest.fixture
def program() -> Iterator[Path]:
    """A file in a directory that the user of servers can read, which `tmp_path` is not."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        yield Path(directory) / "server.py"


async def test_a_kept_process_that_offers_what_was_accepted_before_is_replaced(
    pool: McpPool, program: Path
) -> None:
    shop = McpEndpoint(1, "shop", words=(sys.executable, str(program)))
    program.write_text(PROGRAM.format(says="old"))
    old, wait = await tool_of(shop, "add"), await tool_of(shop, "wait")
    calling = asyncio.create_task(pool.call(shop, wait, {}, key="1", seconds=SECONDS))
    arguments = {"a": 1, "b": 2}
    assert await pool.call(shop, old, arguments, key="2", seconds=SECONDS) == "old"
    program.write_text(PROGRAM.format(says="new"))
    new = await tool_of(shop, "add")
    await pool.connect(shop, new, seconds=SECONDS)
    assert await pool.call(shop, new, arguments, key="3", seconds=SECONDS) == "new"
    assert await calling == "waited"  # on the old process, which ends with it


async def test_a_tool_that_a_new_process_does_not_offer_either_is_refused(
    pool: McpPool, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: list[int] = []
    monkeypatch.setattr("tools.mcp.pool._mark", noted.append)
    shop = McpEndpoint(1, "shop", words=(sys.executable, str(program)))
    program.write_text(PROGRAM.format(says="old"))
    old = await tool_of(shop, "add")
    assert await pool.call(shop, old, {"a": 1, "b": 2}, key="1", seconds=SECONDS) == "old"
    program.write_text(PROGRAM.format(says="new"))
    new = await tool_of(shop, "add")
    gone = replace(new, name="x_gone", remote_name="gone")
    for tool, why in (
        (gone, "gone cannot be used: the server no longer has it"),
        (old, "changed the tool x_add, so it is not called"),
    ):
        with pytest.raises(McpError, match=why):
            await pool.call(shop, tool, {"a": 1, "b": 2}, key="2", seconds=SECONDS)
    assert noted == [1, 1]
