"""Servers, their tools and the credential of their requests, as a connection needs them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_args

import httpx
from django.conf import settings
from pydantic import SecretStr

from heartbit_site.base import orm
from heartbit_site.base.credentials import (
    CredentialNeed,
    CredentialType,
    QueryKeyCredential,
    SignInCredential,
)
from heartbit_site.base.toolspec import Label
from tools.credentials.hiding import HIDDEN
from tools.credentials.http_auth import HttpCredential, auth_headers, bearer
from tools.mcp.errors import McpError, TokenNotAcceptedError
from tools.models import Credential, McpServer
from tools.sign_in.errors import SignInLapsedError
from tools.sign_in.storage import access_token, sign_in_name

if TYPE_CHECKING:
    from heartbit_site.base.toolspec import Effect


@dataclass(frozen=True, slots=True)
class McpEndpoint:
    """Address, or program, of a server.

    Attributes:
        id: Id of its row.
        url: Address for HTTP; empty for a program.
        words: The program and its arguments.
        headers: Headers that each request carries, credentials among them.
    """

    id: int
    name: str
    url: str = ""
    words: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class PinnedTool:
    """A server's tool as an agent was given it.

    Attributes:
        name: Its name in the workspace.
        remote_name: Its name at the server.
        hash: Hash of its definition.
    """

    name: str
    remote_name: str
    effect: Effect
    hash: str


def labels_of(server: McpServer, *, is_closed: bool) -> frozenset[Label]:
    """Return the labels of a server's tool, whose texts are always by outsiders.

    Args:
        server: The server.
        is_closed: True if its calls only read what the server has: they send nothing out.
    """
    labels = {Label.UNTRUSTED}
    if server.private_data:
        labels.add(Label.PRIVATE)
    if not (is_closed and server.trusted):
        labels.add(Label.OUTBOUND)
    if server.shared:
        labels.add(Label.SHARED)
    return frozenset(labels)


#: The credential parameter of a server's tools; no JSON property can have this name.
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
    is_api = server.transport == McpServer.Transport.OPENAPI
    kinds = (*KINDS, QueryKeyCredential.kind) if is_api else KINDS
    return (CredentialNeed(CREDENTIAL, kinds, name=server.credential),)


def stored_needs(server: McpServer) -> list[dict[str, Any]]:
    """Return the credential that a server's tools need, as their rows have it."""
    return [
        {"parameter": "credential", "kinds": list(need.kinds), "optional": need.optional}
        for need in needs_of(server)
    ]


def connect(server: McpServer) -> str:
    """Return the sentence for a call without a sign-in: who must connect, and where."""
    return (
        f"No one is signed in to the MCP server {server.name} for this run: the person behind it, "
        f"or a manager for the workspace, connects at {server.connect_url}"
    )


def covers_of(credential: CredentialType | None) -> Callable[[str], bool]:
    """Return the check whether a credential may be sent to a URL; no credential may, anywhere."""
    if isinstance(credential, HttpCredential | SignInCredential):
        return credential.covers
    return lambda _: True


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
    number = server.pk or 0  # a server that is read before it is stored
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


T = TypeVar("T")


async def signed_in(
    server: McpServer,
    value: SignInCredential,
    http: httpx.AsyncClient,
    ask: Callable[[McpEndpoint], Awaitable[T]],
) -> T:
    """Send a request with the token of a sign-in; repeat it once if the server refuses the token.

    Args:
        server: The server.
        value: The sign-in.
        http: The guarded client.
        ask: Makes the request; if it raises ``TokenNotAcceptedError``, the server has not acted.
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
        endpoint = await endpoint_of(server, value, http, refused=_token_of(endpoint))
        return _hidden(await ask(endpoint), endpoint)
    except TokenNotAcceptedError as error:
        if error.scope:
            await orm.run_in_thread(partial(_want, value.row_id, error.scope))
        raise McpError(connect(server)) from None
    except McpError as error:
        raise type(error)(_hidden(str(error), endpoint)) from None


def _token_of(endpoint: McpEndpoint) -> str:
    return dict(endpoint.headers)["authorization"].removeprefix("Bearer ")


def _hidden(answer: T, endpoint: McpEndpoint) -> T:
    if isinstance(answer, str):
        return type(answer)(answer.replace(_token_of(endpoint), HIDDEN))
    return answer


def _want(row_id: int, scope: str) -> None:
    """Store the scopes that a call lacked for the next sign-in."""
    row = Credential.objects.filter(pk=row_id).first()
    if row is not None:
        settings = {**row.settings, "wanted_scope": scope}
        Credential.objects.filter(pk=row_id, secret=row.secret).update(settings=settings)
