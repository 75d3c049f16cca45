"""Connections to real servers: over HTTP and to processes, and what ends them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from heartbit_site.base.pictures import WithPictures
from tests.fleet import wait_until
from tests.mcp.servers import STDIO, connected, hostile, http_server, pinned
from tools.mcp.endpoints import McpEndpoint
from tools.mcp.errors import McpConnectionError, McpError, McpListingError, McpToolError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.mcp.connection import McpConnection


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with http_server() as url:
        yield url


@pytest.fixture(params=["http", "stdio"])
def endpoint(request: pytest.FixtureRequest, url: str) -> McpEndpoint:
    if request.param == "stdio":
        return McpEndpoint(1, "shop", words=STDIO)
    return McpEndpoint(1, "shop", url=url, headers=(("X-Shop-Key", "canary"),))


async def called(
    connection: McpConnection, tool: str, within: float = 20.0, /, **arguments: object
) -> str:
    wanted = pinned(connection, tool)
    answer = await connection.call(wanted, arguments, key="run:1.0", seconds=within)
    if isinstance(answer, WithPictures):
        assert answer.pictures == (b"\x89PNG\r\n\x1a\n",)
        return answer.text
    assert isinstance(answer, str)
    return answer


async def test_a_server_is_read_and_called(endpoint: McpEndpoint) -> None:
    async with connected(endpoint) as connection:
        assert connection.facts["server"] == "shop"
        assert {"add", "echo", "picture"} <= set(connection.offer.tools)
        assert not connection.offer.left_out
        assert json.loads(await called(connection, "add", a=2, b=3)) == {"total": 5}
        assert await called(connection, "echo", text="Grüße") == "Grüße"
        assert await called(connection, "picture") == "[image, image/png]"
        key = "canary" if endpoint.url else "none"
        assert await called(connection, "header", name="x-shop-key") == key
        listed = await called(connection, "resources/list")
        assert listed == "shop://opening-hours: When the shop is open."
        hours = await called(connection, "resources/read", uri="shop://opening-hours")
        assert hours == "9 to 5"
        prompts = await called(connection, "prompts/list")
        assert prompts == "greeting(customer, tone?): Greet a customer."
        arguments = {"customer": "Ada"}
        text = await called(connection, "prompts/get", name="greeting", arguments=arguments)
        assert text == "user: Write a kind greeting to Ada."
        with pytest.raises(McpToolError):
            await called(connection, "prompts/get", name="greeting", arguments={})


async def test_a_tool_s_failures_are_sentences_and_the_connection_stays(
    endpoint: McpEndpoint,
) -> None:
    async with connected(endpoint) as connection:
        with pytest.raises(McpToolError, match="Error executing tool fail"):
            await called(connection, "fail", why="no stock")
        with pytest.raises(McpConnectionError, match="slow did not finish in 1 s"):
            await called(connection, "slow", 1.0, seconds=30)
        with pytest.raises(McpToolError):
            await called(connection, "ask")
        with pytest.raises(McpToolError, match=r"[Uu]nknown resource|not found"):
            await called(connection, "resources/read", uri="shop://no-such-place")
        assert connection.is_open
        assert await called(connection, "echo", text="still here") == "still here"


async def test_a_changed_tool_is_not_called() -> None:
    async with connected(McpEndpoint(1, "shop", words=STDIO)) as connection:
        before = pinned(connection, "echo")
        assert await called(connection, "change") == "changed"
        async with asyncio.timeout(20):
            while True:
                try:
                    await connection.call(before, {"text": "a"}, key="k", seconds=5)
                except McpError as error:
                    refusal = str(error)
                    break
        assert refusal.startswith(
            "The MCP server shop changed the tool x_echo, so it is not called"
        )
        assert await called(connection, "echo", text="a") == "A"  # pinned anew


async def test_a_process_has_its_own_user_home_and_environment() -> None:
    os.environ["CANARY_OF_HEARTBIT"] = "secret"
    async with connected(McpEndpoint(1, "shop", words=STDIO)) as connection:
        found = json.loads(await called(connection, "environment"))
    assert "heartbit-mcp-" in found["cwd"]
    assert not os.path.exists(found["cwd"])  # noqa: PTH110
    assert set(found["names"].split()) <= {"HOME", "LANG", "PATH", "PWD", "TMPDIR", "LC_CTYPE"}
    if os.geteuid() == 0:
        assert found["uid"] == "50001"


async def test_a_server_that_dies_ends_the_connection(endpoint: McpEndpoint) -> None:
    if endpoint.url:
        with http_server() as url:
            await dies(McpEndpoint(1, "shop", url=url))
    else:
        await dies(endpoint)


async def dies(endpoint: McpEndpoint) -> None:
    async with connected(endpoint) as connection:
        with pytest.raises(McpConnectionError, match=r"^The MCP server shop failed: "):
            await called(connection, "die")
        assert not connection.is_open


@pytest.mark.parametrize(
    ("way", "kind", "sentence"),
    [
        ("start", McpConnectionError, "start failed: its process ended: no licence."),
        ("silent", McpConnectionError, "silent failed: it did not answer within 1 s."),
        ("unreadable", McpConnectionError, "failed: its response violates the protocol."),
        ("many", McpListingError, "many is refused: it has more than 256 tools."),
        ("long", McpListingError, "its list of tools has more than 1,000,000 characters."),
        ("endless", McpListingError, "its list of tools has more than 32 pages."),
    ],
)
async def test_a_server_that_lies_or_floods_is_refused(
    way: str, kind: type[McpError], sentence: str
) -> None:
    with pytest.raises(kind) as refused:
        async with connected(hostile(way), 1.0 if way == "silent" else 30.0):
            pass
    assert str(refused.value).endswith(sentence)


@pytest.mark.parametrize(
    ("way", "sentence"),
    [
        ("hang", "good did not finish in 1 s."),
        ("exit", "its process ended: KeyError: 'no such table'."),
        ("nonsense", "its response violates the protocol."),
        (
            "lies",
            "good returned a result that does not fit its declared schema: n: 'seven' is "
            "not of type integer.",
        ),
        ("line", ""),
    ],
)
async def test_a_call_that_goes_wrong_is_a_sentence(way: str, sentence: str) -> None:
    async with connected(hostile(way)) as connection:
        with pytest.raises(McpError) as failed:
            await called(connection, "good", 1.0)
    assert str(failed.value).startswith(f"The MCP server {way} failed: ")
    assert str(failed.value).endswith(sentence)


@pytest.mark.parametrize("way", ["junk", "stderr", "ids"])
async def test_noise_does_not_disturb_a_call(way: str) -> None:
    async with connected(hostile(way)) as connection:
        assert await called(connection, "good") == "good: {}"


async def test_tools_that_cannot_be_used_are_left_out_with_the_reason() -> None:
    async with connected(hostile("schemas")) as connection:
        assert list(connection.offer.tools) == ["good", "loop"]
        assert set(connection.offer.left_out) == {"remote", "nul", "big", "story", "good"}
        assert connection.offer.left_out["good"] == "it is listed twice"


async def test_a_malformed_or_too_long_tool_does_not_cost_the_others() -> None:
    async with connected(hostile("unlawful")) as connection:
        assert list(connection.offer.tools) == ["good", "better"]
        assert connection.offer.left_out == {
            "bare": "inputSchema: Field required",
            "array": "inputSchema.type: Input should be 'object'",
            "tool 3": "name: Input should be a valid string",
            "tool 4": "the tool: Input should be a valid dictionary or instance of Tool",
        }
        assert await called(connection, "good") == "good: {}"
    async with connected(hostile("story")) as connection:
        assert list(connection.offer.tools) == ["good"]
        assert "description has more than" in connection.offer.left_out["story"]


async def test_data_beside_a_summary_reaches_the_model() -> None:
    async with connected(hostile("summary")) as connection:
        answer = await called(connection, "good")
    assert answer == '1 item\n{"items": [{"title": "zinnia"}]}'


async def test_what_a_process_started_ends_with_it() -> None:
    mark = uuid4().hex
    way = hostile("grandchild")
    async with connected(replace(way, words=(*way.words, mark))):
        wait_until(lambda: running(mark) >= 2, what="it, and its own")
    wait_until(lambda: running(mark) == 0, seconds=10, what="its end")


def running(mark: str) -> int:
    """The number of processes with this word."""
    found = 0
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found += mark.encode() in (process / "cmdline").read_bytes().split(b"\0")
    return found


async def test_a_missing_program_is_named() -> None:
    with pytest.raises(McpConnectionError, match="/nowhere/at-all"):
        async with connected(McpEndpoint(1, "gone", words=("/nowhere/at-all",))):
            pass
