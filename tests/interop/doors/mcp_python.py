"""MCP's own SDK for Python: with the protocol of 2026-07-28, and with the one before."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp_types import CallToolResult, ElicitResult

from tests.doors.mcp.tasks import Tasks, ask, begin, until
from tests.interop.doors.calls import Calls
from tests.interop.doors.heartbit import SUM

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.interop.doors.heartbit import Heartbit

SECONDS = 120.0


def drive(heartbit: Heartbit) -> int:
    """Do everything that the door has, with the protocol of 2026-07-28."""
    calls = Calls()
    connected = partial(_connected, heartbit, calls, mode="2026-07-28")
    connected(_agents)
    connected(_resources)
    connected(_forms, elicitation_callback=_approve)
    connected(_tasks, extensions=[Tasks()])
    connected(_operations, path="/mcp/operator")
    return calls.count


def drive_before(heartbit: Heartbit) -> int:
    """Do what a client of the protocol before it can do."""
    calls = Calls()
    connected = partial(_connected, heartbit, calls, mode="legacy")
    connected(_agents)
    connected(_resources)
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(connected, _waits)
        heartbit.approve()
        asked.result(60)
    connected(_operations, path="/mcp/operator")
    return calls.count


def _connected(
    heartbit: Heartbit,
    calls: Calls,
    use: Callable[[Client], Awaitable[None]],
    *,
    path: str = "/mcp",
    **options: Any,
) -> None:
    async def connected() -> None:
        headers = {"Authorization": f"Bearer {heartbit.key}"}
        async with create_mcp_http_client(headers) as http:
            http.event_hooks = calls.async_hooks()
            over = streamable_http_client(f"{heartbit.url}{path}", http_client=http)
            async with Client(over, cache=None, **options) as client:
                await use(client)

    asyncio.run(asyncio.wait_for(connected(), SECONDS))


def _text(result: CallToolResult) -> str:
    return "".join(one.text for one in result.content if one.type == "text")


async def _agents(client: Client) -> None:
    tools = {tool.name for tool in (await client.list_tools()).tools}
    assert {"writer", "analyst"} <= tools, tools
    heard: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message or "")

    found = await client.call_tool("writer", {"task": "[[text: Done.]]"}, progress_callback=hear)
    assert (_text(found), found.is_error) == ("Done.", False), found
    assert heard
    failed = await client.call_tool("writer", {"task": "[[error: 400]]"})
    assert failed.is_error, failed
    assert "400" in _text(failed), failed


async def _resources(client: Client) -> None:
    await client.list_resources()
    templates = (await client.list_resource_templates()).resource_templates
    assert any("artifacts" in one.uri_template for one in templates), templates


async def _approve(context: Any, params: Any) -> ElicitResult:
    assert "calculate" in params.message, params
    return ElicitResult(action="accept", content={"decision": "approve"})


async def _forms(client: Client) -> None:
    """An approval is a form within the call."""
    await _waits(client)


async def _waits(client: Client) -> None:
    """A call that needs an approval has its answer after the decision."""
    found = await client.call_tool("analyst", {"task": SUM})
    assert (_text(found), found.is_error) == ("Done.", False), found


async def _tasks(client: Client) -> None:
    """A call is a task: asked about, answered, cancelled."""
    begun = await begin(client, "analyst", SUM)
    task = await until(client, begun.task_id, "input_required")
    said = {
        key: {"action": "accept", "content": {"decision": "approve"}}
        for key in task["inputRequests"]
    }
    await ask(client, "tasks/update", begun.task_id, inputResponses=said)
    done = await until(client, begun.task_id, "completed")
    assert done["result"]["content"][0]["text"] == "Done.", done
    waits = await begin(client, "sleeper", "Wait.")
    await ask(client, "tasks/cancel", waits.task_id)
    await until(client, waits.task_id, "cancelled")


async def _operations(client: Client) -> None:
    assert "list_runs" in {tool.name for tool in (await client.list_tools()).tools}
    listed = await client.call_tool("list_runs", {})
    assert not listed.is_error, listed
