"""What screening a server's lists may cost, whatever the server sends."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types
from mcp.shared.message import SessionMessage

from tools.mcp.listing import MAX_TOOLS
from tools.mcp.tool_screen import ToolScreen

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


async def screened(*lists: list[Any], **beside: Any) -> tuple[ToolScreen, list[dict[str, Any]]]:
    """Return a screen after a server's lists, and the results that it let through."""
    sender, receiver = anyio.create_memory_object_stream[Any](len(lists))
    screen = ToolScreen()
    screen.version = "2025-06-18"

    @asynccontextmanager
    async def transport() -> AsyncIterator[Any]:
        yield receiver, None

    found = []
    async with screen.over(transport()), sender:
        for number, tools in enumerate(lists):
            result = {**beside, "tools": tools}
            answer = mcp_types.JSONRPCResponse(jsonrpc="2.0", id=number, result=result)
            await sender.send(SessionMessage(answer))
            item = await screen.receive()
            assert isinstance(item, SessionMessage)
            assert isinstance(item.message, mcp_types.JSONRPCResponse)
            found.append(item.message.result)
        await screen.aclose()
    return screen, found


async def test_a_list_that_is_refused_for_its_length_is_not_screened() -> None:
    screen, [result] = await screened([None] * (MAX_TOOLS + 1))
    assert len(result["tools"]) == MAX_TOOLS + 1
    assert not screen.take_malformed()


async def test_lists_that_no_one_asked_for_do_not_fill_the_memory() -> None:
    lists = [[{"name": f"bare{n}_{number}"} for n in range(200)] for number in range(3)]
    screen, results = await screened(*lists)
    assert [result["tools"] for result in results] == [[], [], []]
    assert len(screen.take_malformed()) == MAX_TOOLS


async def test_what_stands_beside_the_tools_stays() -> None:
    good = {"name": "good", "inputSchema": {"type": "object"}}
    _, [result] = await screened([None, good], nextCursor="2", odd=[1])
    assert result == {"tools": [good], "nextCursor": "2", "odd": [1]}
