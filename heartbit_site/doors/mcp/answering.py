"""Answers of MCP servers: each request by itself, and every error one sentence."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib import metadata
from typing import Any, Final

from mcp.server import Server
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST
from pydantic import ValidationError

from heartbit_site.api.errors import database_problem
from heartbit_site.api.json_parser import MAX_BODY_BYTES
from heartbit_site.base.errors import ForbiddenError, HeartbitError
from heartbit_site.base.untrusted import clean_json
from heartbit_site.doors.mcp.http import CALLER, UNAVAILABLE, Caller

logger = logging.getLogger("django.request")
logging.getLogger("mcp").setLevel(logging.WARNING)  # it tells two things of each request

Context = ServerRequestContext[Any, Any]
VERSION: Final = metadata.version("heartbit")


def new_server(name: str, caller: Caller | None, **settings: Any) -> Server[Any]:
    """Return a server.

    Args:
        name: What it is called.
        caller: Who sends all requests; None: the key of each.
        settings: Further ones of the SDK's server.
    """

    @asynccontextmanager
    async def lifespan(_: Server[Any]) -> AsyncIterator[Caller | None]:
        yield caller

    # No tool takes an argument in a header; unless told so, the SDK lists all tools at each call.
    server: Server[Any] = Server(
        name,
        version=VERSION,
        lifespan=lifespan,
        get_tool_input_schema=lambda _: None,
        **settings,
    )
    server.middleware.append(in_sentences)
    return server


def caller_of(ctx: Context) -> Caller:
    """Return the caller of a request: the key's over HTTP, else that of the process."""
    found: Caller = ctx.lifespan_context if ctx.request is None else ctx.request.scope[CALLER]
    return found


async def answer_with(server: Server[Any], scope: Any, receive: Any, send: Any) -> None:
    """Answer one request over HTTP."""
    manager = StreamableHTTPSessionManager(
        server, stateless=True, max_request_body_size=MAX_BODY_BYTES
    )
    async with manager.run():  # of this request alone: it keeps nothing
        await manager.handle_request(scope, receive, send)


async def answer_stdio(server: Server[Any]) -> None:
    """Answer the client that has started this process, until it closes standard input."""
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def _clean(ctx: Context) -> Context:
    """Return a request without what PostgreSQL does not store: the SDK reads it like any JSON.

    Raises:
        UntrustedJSONError: A number is too large.
    """
    params: Any = None if ctx.params is None else clean_json(ctx.params)
    meta: Any = None if ctx.meta is None else clean_json(ctx.meta)
    return replace(ctx, params=params, meta=meta)


async def in_sentences(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Answer a request; every error of ours is one sentence (``Server.middleware``)."""
    try:
        return await call_next(_clean(ctx))
    except (MCPError, ValidationError):
        raise
    except HeartbitError as error:
        code = INVALID_REQUEST if isinstance(error, ForbiddenError) else INVALID_PARAMS
        raise MCPError(code, str(error)) from error
    except Exception as error:
        if database_problem(error) is not None:
            raise MCPError(INTERNAL_ERROR, UNAVAILABLE) from error
        logger.exception("%s failed", ctx.method)
        raise MCPError(INTERNAL_ERROR, "The server failed; its log says where.") from error
