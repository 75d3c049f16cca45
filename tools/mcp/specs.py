"""Tools of a workspace's MCP servers, callable by this process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from heartbit_site.base.credentials import CredentialType, SignInCredential
from heartbit_site.base.pictures import WithPictures
from heartbit_site.base.suspensions import QUESTION, Question, Suspension
from heartbit_site.base.toolspec import Label, Origin, ToolContext, ToolSpec
from tools.definitions import catalogue as definitions
from tools.mcp.api_calls import call_operation
from tools.mcp.endpoints import (
    CREDENTIAL,
    McpEndpoint,
    PinnedTool,
    covers_of,
    endpoint_of,
    needs_of,
    signed_in,
)
from tools.mcp.errors import McpError, changed_error
from tools.mcp.remote_agents.calls import call_remote_agent
from tools.mcp.remote_agents.client import RemoteAgent
from tools.models import CatalogueTool, McpServer

if TYPE_CHECKING:
    from tools.mcp.pool import McpPool

T = TypeVar("T")
Call = Callable[..., Awaitable["str | WithPictures | Suspension"]]
Connect = Callable[..., Awaitable[None]]

_CONTEXT: Final = "heartbit:context"
#: Time limit for a reply to a server's question; the server is then called without an answer.
REPLY_SECONDS: Final = 24 * 3600.0
MOST_QUESTIONS: Final = 5
_MARGIN_SECONDS = 0.2  # the pool ends a call shortly before the pipeline would


def server_tools(workspace_id: int, names: Iterable[str], pool: McpPool) -> dict[str, ToolSpec]:
    """Return the named tools that a workspace's MCP servers have, by name.

    Args:
        workspace_id: The run's workspace.
        names: Names of the requested tools.
        pool: Connections of the process, over which the tools are called.
    """
    rows = list(
        CatalogueTool.objects.filter(
            workspace_id=workspace_id, server__isnull=False, enabled=True, name__in=list(names)
        )
        .select_related("server__workspace")
        .defer("server__document", "server__offered")
    )
    stored = definitions.load(row.definition_id for row in rows)
    return {row.name: _callable(row, stored[row.definition_id], pool) for row in rows}


def _callable(row: CatalogueTool, defined: ToolSpec, pool: McpPool) -> ToolSpec:
    server = row.server
    if server is None:
        raise TypeError("the tool of a server needs its server")
    call: Call
    connect: Connect | None
    if server.transport == McpServer.Transport.OPENAPI:
        call, connect = _of_api(server, row, defined)
    else:
        call, connect = _of_server(server, row, defined, pool)
    return replace(
        defined,
        function=call,
        connect=connect,
        timeout_seconds=float(server.timeout_seconds),
        context_parameter=_CONTEXT,
        credentials=needs_of(server),
        labels=frozenset(label for label in Label if label in row.labels),
        source=server.name,
        origin=Origin.MCP,
    )


def _of_api(server: McpServer, row: CatalogueTool, defined: ToolSpec) -> tuple[Call, Connect]:
    """Return what calls an operation of an API, and what is done before a call's intent."""

    async def connect(**_: Any) -> None:
        _check(server, row)

    async def call(**arguments: Any) -> str:
        context: ToolContext = arguments.pop(_CONTEXT)
        credential = arguments.pop(CREDENTIAL, None)
        _check(server, row)
        return await call_operation(server, defined, context, credential, arguments)

    return call, connect


def _of_server(
    server: McpServer, row: CatalogueTool, defined: ToolSpec, pool: McpPool
) -> tuple[Call, Connect | None]:
    """Return what calls a tool of an MCP server or a remote agent, and what connects to it."""
    tool = PinnedTool(row.name, row.remote_name, defined.effect, row.definition_id)
    is_agent = server.protocol == McpServer.Protocol.A2A

    async def reach(
        context: ToolContext,
        credential: CredentialType | None,
        ask: Callable[[McpEndpoint], Awaitable[T]],
    ) -> T:
        _check(server, row, begun=is_agent and context.reply is not None)
        if isinstance(credential, SignInCredential):
            return await signed_in(server, credential, context.http, ask)
        return await ask(await endpoint_of(server, credential, context.http))

    async def connect(**arguments: Any) -> None:
        context: ToolContext = arguments.pop(_CONTEXT)

        async def open_connection(endpoint: McpEndpoint) -> None:
            seconds = _seconds_left(context, server.timeout_seconds)
            await pool.connect(endpoint, tool, seconds=seconds)

        await reach(context, arguments.pop(CREDENTIAL, None), open_connection)

    async def call(**arguments: Any) -> str | WithPictures | Suspension:
        context: ToolContext = arguments.pop(_CONTEXT)
        credential = arguments.pop(CREDENTIAL, None)

        async def ask(endpoint: McpEndpoint) -> str | WithPictures | Question | Suspension:
            seconds = _seconds_left(context, server.timeout_seconds)
            if is_agent:
                agent = RemoteAgent(endpoint, pool.http, seconds, covers=covers_of(credential))
                return await call_remote_agent(agent, tool, arguments, context)
            return await pool.call(
                endpoint,
                tool,
                arguments,
                key=context.idempotency_key,
                seconds=seconds,
                reply=context.reply,
            )

        answer = await reach(context, credential, ask)
        return _asked(server, context, answer) if isinstance(answer, Question) else answer

    return call, None if is_agent else connect


def _asked(server: McpServer, context: ToolContext, asked: Question) -> Suspension:
    """Return the wait for a person's reply, unless the call has too many questions."""
    if context.reply is not None and context.reply.number >= MOST_QUESTIONS:
        raise McpError(
            f"The MCP server {server.name} asked {MOST_QUESTIONS} questions in one call, which "
            f"is the limit."
        )
    return Suspension((), REPLY_SECONDS, QUESTION, asked)


def _check(server: McpServer, row: CatalogueTool, *, begun: bool = False) -> None:
    """Refuse a call; one that a remote agent has begun is carried on despite a change."""
    if not server.enabled:
        raise McpError(f"The MCP server {server.name} is disabled.")
    if row.pending_id is not None and not begun:
        raise changed_error(server.name, row.name)


def _seconds_left(context: ToolContext, most: float) -> float:
    if context.deadline is None:
        return most
    left = (context.deadline - datetime.now(UTC)).total_seconds()
    return max(0.05, left - min(_MARGIN_SECONDS, left / 10))
