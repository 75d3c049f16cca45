"""The server at ``/mcp``, and of ``heartbit mcp serve``: agents and workflows."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from mcp.server import Server
from mcp_types import CallToolRequestParams, ListToolsResult, PaginatedRequestParams

from heartbit_site.base import orm
from heartbit_site.doors.mcp.answering import Context, answer_with, caller_of, new_server
from heartbit_site.doors.mcp.calls import call_tool
from heartbit_site.doors.mcp.http import Caller
from heartbit_site.doors.mcp.resources import list_resources, list_templates, read_resource
from heartbit_site.doors.mcp.tasks import offer_tasks
from heartbit_site.doors.mcp.tools import tools_of

INSTRUCTIONS: Final = (
    "Each tool is an agent or a workflow: a call starts a durable run, which may take long and may "
    "ask a person before it acts."
)


@cache
def make_server(caller: Caller | None = None) -> Server[Any]:
    """Return a server; for ``caller`` see ``new_server``."""
    server = new_server(
        "heartbit",
        caller,
        title="Heartbit",
        instructions=INSTRUCTIONS,
        on_list_tools=_list_tools,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )
    server.add_request_handler("tools/call", CallToolRequestParams, call_tool)
    offer_tasks(server)
    return server


async def answer(scope: Any, receive: Any, send: Any) -> None:
    """Answer one request over HTTP."""
    await answer_with(make_server(), scope, receive, send)


async def _list_tools(ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
    access = caller_of(ctx).access
    return ListToolsResult(tools=await orm.run_in_thread(lambda: tools_of(access)))
