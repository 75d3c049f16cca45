"""Endpoints of servers' rows: their address or program, and the credential of their requests."""

from __future__ import annotations

from typing import Final, get_args

import httpx
from django.conf import settings
from pydantic import SecretStr

from heartbit_site.base.credentials import CredentialNeed, CredentialType, SignInCredential
from tools.credentials.http_auth import HttpCredential, auth_headers, bearer
from tools.mcp.endpoint import McpEndpoint
from tools.mcp.errors import McpError
from tools.models import McpServer
from tools.sign_in.access import access_token
from tools.sign_in.errors import SignInLapsedError
from tools.sign_in.storage import sign_in_name

#: The parameter of every tool of a server that has a credential; no JSON property is called so.
CREDENTIAL: Final = "heartbit:credential"
KINDS: Final = tuple(kind.kind for kind in get_args(HttpCredential))


def needs_of(server: McpServer) -> tuple[CredentialNeed, ...]:
    """Return the credential that the calls of a server's tools need."""
    if server.sign_in:
        name = sign_in_name(server.name)
        return (
            CredentialNeed(CREDENTIAL, (SignInCredential.kind,), name=name, remedy=connect(server)),
        )
    if not server.credential:
        return ()
    return (CredentialNeed(CREDENTIAL, KINDS, name=server.credential),)


def connect(server: McpServer) -> str:
    """Return the sentence for a call without a sign-in: who must connect, and where."""
    return (
        f"No one is signed in to the MCP server {server.name} for this run: the person behind it, "
        f"or a manager for the workspace, connects at {server.connect_url}"
    )


async def endpoint_of(
    server: McpServer,
    credential: CredentialType | None,
    http: httpx.AsyncClient,
    *,
    refused: str = "",
) -> McpEndpoint:
    """Return the endpoint of a server.

    Args:
        server: The server's row.
        credential: The value of the credential that it names, if it names one.
        http: The guarded client, which gets access tokens.
        refused: An access token of a sign-in that the server has just refused.

    Raises:
        McpError: The program is not on the administrator's list, or no access token was given.
        UnusableCredentialError: The credential is for another address.
    """
    number = server.pk or 0  # one that is read before it is stored
    if server.transport == McpServer.Transport.STDIO:
        words = settings.HEARTBIT_MCP_COMMANDS.get(server.command)
        if words is None:
            raise McpError(
                f"The MCP server {server.name} needs the program {server.command!r}, which "
                "HEARTBIT_MCP_COMMANDS does not name on this machine."
            )
        return McpEndpoint(number, server.name, words=words)
    headers: dict[str, str] = {}
    if isinstance(credential, SignInCredential):
        headers = bearer(SecretStr(await _token(server, credential, refused)))
    elif isinstance(credential, HttpCredential):
        try:
            headers = await auth_headers(credential, server.url, http)
        except httpx.HTTPError as error:
            raise McpError(
                f"The MCP server {server.name} needs an access token, and the request for one "
                f"failed: {error}."
            ) from error
    return McpEndpoint(number, server.name, url=server.url, headers=tuple(headers.items()))


async def _token(server: McpServer, value: SignInCredential, refused: str) -> str:
    """Return the access token of a sign-in, which is sent only to the server of that sign-in."""
    if not value.covers(server.url):
        raise McpError(connect(server))
    try:
        return await access_token(value, refused=refused)
    except SignInLapsedError:
        raise McpError(connect(server)) from None
