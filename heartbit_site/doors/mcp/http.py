"""``/mcp``: who may send a request, and how. The protocol is the SDK's.

Each request stands alone (no session, no stream of the server's own), so that any web process
answers any of them: everything is read from the database.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest
from django.http.request import validate_host

from heartbit_site.api.auth import key_in
from heartbit_site.api.errors import TooManyRequestsError, database_problem, status_of
from heartbit_site.base import orm
from heartbit_site.base.access import Access
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.issuer_errors import IssuerError
from heartbit_site.doors.keys import access_by_key
from heartbit_site.doors.mcp import tokens

#: Key of a request's ASGI scope.
CALLER: Final = "heartbit.caller"
#: The module that answers each path, and the scopes that it needs. The SDK, which they import, is
#: 25 MB: a process without MCP clients does not pay for it.
DOORS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "/mcp": ("heartbit_site.doors.mcp.server", ("runs:read", "runs:write")),
    "/mcp/operator": ("heartbit_site.doors.mcp.operator", ()),
}
_ANSWERS: Final = ("application/json", "text/event-stream")
INVALID_REQUEST: Final = -32600  # of JSON-RPC
UNAVAILABLE: Final = "The database is unavailable: try again in a moment."


@dataclass(slots=True, eq=False)
class Caller:
    """The caller of a request.

    Attributes:
        access: The key's access.
        has_left: True once the client has closed the connection.
    """

    access: Access
    has_left: bool = False


class _RefusalError(Exception):
    """A request that is not answered by the protocol."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status, self.headers = status, headers


class McpRequests:
    """ASGI application that answers MCP clients.

    Args:
        others: Handles all other paths.
    """

    def __init__(self, others: Any) -> None:
        self._others = others

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request."""
        described = scope["path"].removeprefix(tokens.WELL_KNOWN)
        if described != scope["path"] and described in DOORS and settings.HEARTBIT_MCP_ISSUER:
            await _answer(send, 200, tokens.metadata_of(described, DOORS[described][1]))
            return
        if scope["path"] not in DOORS:
            await self._others(scope, receive, send)
            return
        module, scopes = DOORS[scope["path"]]
        try:
            caller = Caller(await _opened(scope, scopes))
        except _RefusalError as refused:
            await _refuse(send, refused)
            return

        async def heard() -> Any:
            message = await receive()
            caller.has_left = caller.has_left or message["type"] == "http.disconnect"
            return message

        door: Any = sys.modules.get(module)
        if door is None or not hasattr(door, "answer"):  # it is being imported
            door = await orm.run_in_thread(lambda: import_module(module))
        await door.answer({**scope, CALLER: caller}, heard, send)


async def _opened(scope: Any, scopes: tuple[str, ...]) -> Access:
    """Return the access of a request's key, if the protocol may answer the request.

    Raises:
        _RefusalError: It may not.
    """
    request = ASGIRequest(scope, BytesIO())
    try:
        _check_place(request)
        access = await _access(request, scopes)
    except HeartbitError as error:
        raise _refusal(error, request.path, scopes) from error
    except Exception as error:
        if database_problem(error) is None:
            raise
        raise _RefusalError(503, UNAVAILABLE, **{"Retry-After": "2"}) from error
    if request.method != "POST":
        raise _RefusalError(405, "This path takes POST alone.", Allow="POST")
    if not (request.headers.get("Accept") and all(map(request.accepts, _ANSWERS))):
        raise _RefusalError(406, f"Send the header Accept: {', '.join(_ANSWERS)}.")
    if request.content_type != "application/json":
        raise _RefusalError(415, "Send JSON, with the header Content-Type: application/json.")
    return access


async def _access(request: ASGIRequest, scopes: tuple[str, ...]) -> Access:
    token = key_in(request.headers.get("Authorization", ""))
    if token is not None and tokens.is_token(token):
        return await tokens.access_by_token(request, token, scopes)
    return await orm.run_in_thread(lambda: access_by_key(request, scopes))


def _check_place(request: ASGIRequest) -> None:
    """Refuse pages of other sites, and names of this one that a stranger's DNS gives.

    Raises:
        _RefusalError: The host or the origin is another one.
    """
    try:
        request.get_host()
    except DisallowedHost:
        raise _RefusalError(421, "This server does not have the name in Host.") from None
    origin = request.headers.get("Origin")
    host = urlsplit(origin).hostname if origin else None
    if origin and not (host and validate_host(host, settings.ALLOWED_HOSTS)):
        raise _RefusalError(403, "Pages of that origin may not send requests here.")


def _refusal(error: HeartbitError, path: str, scopes: tuple[str, ...]) -> _RefusalError:
    status, headers = status_of(error), {}
    if isinstance(error, IssuerError):
        status, headers["Retry-After"] = 503, "5"
    if status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="heartbit"'
        if settings.HEARTBIT_MCP_ISSUER:
            place = f"{settings.HEARTBIT_PUBLIC_URL}{tokens.WELL_KNOWN}{path}"
            headers["WWW-Authenticate"] += f', resource_metadata="{place}"'
    if status == 403:
        wanted = " ".join(scopes)
        headers["WWW-Authenticate"] = f'Bearer error="insufficient_scope", scope="{wanted}"'
    if isinstance(error, TooManyRequestsError):
        headers["Retry-After"] = str(error.seconds)
    return _RefusalError(status, str(error), **headers)


async def _refuse(send: Any, refused: _RefusalError) -> None:
    await _answer(send, refused.status, _error(str(refused)), **refused.headers)


async def _answer(send: Any, status: int, content: Any, **headers: str) -> None:
    body = json.dumps(content).encode()
    headers = {
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "X-Content-Type-Options": "nosniff",
        **headers,
    }
    encoded = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})


def error_body(message: str) -> bytes:
    """Return an error of a request that has not been read, in JSON-RPC's form."""
    return json.dumps(_error(message)).encode()


def _error(message: str) -> dict[str, Any]:
    error = {"code": INVALID_REQUEST, "message": message}
    return {"jsonrpc": "2.0", "id": None, "error": error}
