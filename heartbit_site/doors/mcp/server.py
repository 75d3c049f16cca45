"""The server at ``/mcp``, and of ``heartbit mcp serve``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp_types import CallToolRequestParams, ListToolsResult, PaginatedRequestParams

from heartbit_site.base import orm
from heartbit_site.base.access import Access
from heartbit_site.doors.mcp.answering import (
    VERSION,
    Context,
    answer_with,
    caller_of,
    in_sentences,
)
from heartbit_site.doors.mcp.calls import call_tool
from heartbit_site.doors.mcp.http import Caller
from heartbit_site.doors.mcp.tasks import offer_tasks
from heartbit_site.doors.mcp.tools import tools_of

INSTRUCTIONS = (
    "Each tool is an agent or a workflow: a call starts a durable run, which may take long and may "
    "ask a person before it acts."
)


def make_server(caller: Caller | None = None) -> Server[Any]:
    """Return a server.

    Args:
        caller: Who sends all requests; None: the key of each.
    """

    @asynccontextmanager
    async def lifespan(_: Server[Any]) -> AsyncIterator[Caller | None]:
        yield caller

    server: Server[Any] = Server(
        "heartbit",
        version=VERSION,
        title="Heartbit",
        instructions=INSTRUCTIONS,
        lifespan=lifespan,
        on_list_tools=_list_tools,
    )
    server.add_request_handler("tools/call", CallToolRequestParams, call_tool)
    server.middleware.append(in_sentences)
    offer_tasks(server)
    return server


_of_keys = cache(make_server)


async def serve_stdio(access: Access) -> None:
    """Answer the client that has started this process, until it closes standard input."""
    server = make_server(Caller(access))
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


async def answer(scope: Any, receive: Any, send: Any) -> None:
    """Answer one request over HTTP."""
    await answer_with(_of_keys(), scope, receive, send)


async def _list_tools(ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
    access = caller_of(ctx).access
    return ListToolsResult(tools=await orm.run_in_thread(lambda: tools_of(access)))
