"""Requests to an MCP server with a person's sign-in: a refused token is renewed once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

import httpx

from heartbit_site.base import orm
from heartbit_site.base.credentials import SignInCredential
from tools.credentials.hiding import HIDDEN
from tools.mcp.endpoint import McpEndpoint
from tools.mcp.endpoints import connect, endpoint_of
from tools.mcp.errors import McpError, TokenNotAcceptedError
from tools.models import Credential, McpServer

T = TypeVar("T")


async def signed_in(
    server: McpServer,
    value: SignInCredential,
    http: httpx.AsyncClient,
    ask: Callable[[McpEndpoint], Awaitable[T]],
) -> T:
    """Send a request with the token of a sign-in, and repeat it if the server refuses the token.

    Args:
        server: The server.
        value: The sign-in.
        http: The guarded client.
        ask: Makes the request; the server has not acted if it raises ``TokenNotAcceptedError``.
            The token is removed from a text that it returns.

    Raises:
        McpError: The server cannot be used; or the person must sign in again, at the page that the
        sentence names.
    """
    endpoint = await endpoint_of(server, value, http)
    try:
        try:
            return _hidden(await ask(endpoint), endpoint)
        except TokenNotAcceptedError as error:
            if error.scope:
                raise
        endpoint = await endpoint_of(server, value, http, refused=_token(endpoint))
        return _hidden(await ask(endpoint), endpoint)
    except TokenNotAcceptedError as error:
        if error.scope:
            await orm.run_in_thread(partial(_want, value.row_id, error.scope))
        raise McpError(connect(server)) from None
    except McpError as error:
        raise type(error)(_hidden(str(error), endpoint)) from None


def _token(endpoint: McpEndpoint) -> str:
    return dict(endpoint.headers)["authorization"].removeprefix("Bearer ")


def _hidden(answer: T, endpoint: McpEndpoint) -> T:
    if isinstance(answer, str):
        return type(answer)(answer.replace(_token(endpoint), HIDDEN))
    return answer


def _want(row_id: int, scope: str) -> None:
    """Store scopes that a call lacked, for the next sign-in."""
    row = Credential.objects.filter(pk=row_id).first()
    if row is not None:
        settings = {**row.settings, "wanted_scope": scope}
        Credential.objects.filter(pk=row_id, secret=row.secret).update(settings=settings)
