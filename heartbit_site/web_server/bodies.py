"""Limits on requests: ASGI middleware that answers before Django reads anything.

Django writes a body to a temporary file before any view can check its size. This middleware
buffers a body in memory, and passes it on only if it arrived completely, in time, and within the
limit of its path::

    application = BodyLimits(get_asgi_application(), seconds=30)
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from heartbit_site.api import errors
from heartbit_site.api.json_parser import LARGER_BODIES, MAX_BODY_BYTES
from heartbit_site.base.errors import HeartbitError, NotFoundError
from heartbit_site.doors.a2a import errors as rpc
from heartbit_site.doors.mcp.http import DOORS
from heartbit_site.doors.mcp.http import error_body as mcp_error
from heartbit_site.doors.openai.errors import error_body
from heartbit_site.web_server.clients import CLIENT_SHARE, client_at, is_proxy

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

#: Limit for forms, which hold prompts and schemas: Django's own limit.
FORM_BYTES: Final = 2_621_440
#: Limit for the admin's forms of documents and of MCP servers, whose file may have 10 MB.
UPLOAD_BYTES: Final = 11_000_000
#: Limit for every other path: a login form needs no more, and a page or a file reads no body.
OTHER_BYTES: Final = 65_536
LIMITS: Final = (
    *LARGER_BODIES,
    ("/api/", MAX_BODY_BYTES),
    ("/v1/", MAX_BODY_BYTES),
    ("/agui/", MAX_BODY_BYTES),
    ("/mcp", MAX_BODY_BYTES),
    ("/a2a", MAX_BODY_BYTES),
    ("/admin/memory/document/", UPLOAD_BYTES),
    ("/admin/tools/mcpserver/", UPLOAD_BYTES),
    ("/admin/", FORM_BYTES),
    ("/w/", FORM_BYTES),
)
#: Limit for the bodies of all requests together; one client may use a quarter of it.
HELD_BYTES: Final = 67_108_864


class BodyLimits:
    """ASGI middleware that refuses large (413), slow (408), or too many request bodies (503).

    An address with a NUL is not found (404).

    503 applies above ``HELD_BYTES`` in total or a client's share of them; proxies in
    ``HEARTBIT_TRUSTED_PROXIES`` have no share. A declared length is enough to refuse; a body of
    unknown length is read up to the limit. Below ``/api/`` and ``/agui/`` the answer is problem
    details, below ``/v1/`` an error of OpenAI's form, for MCP and A2A one of JSON-RPC, elsewhere
    one line of text.

    Args:
        application: The ASGI application for accepted requests.
        seconds: Time for the whole body to arrive.
    """

    def __init__(self, application: Any, *, seconds: float) -> None:
        self._application = application
        self._seconds = seconds
        self._held = 0  # bytes of the bodies of all requests at this moment
        self._held_of: Counter[str] = Counter()  # of those, by client

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if "\x00" in scope["path"]:  # which no name has, and PostgreSQL does not compare
            nowhere = NotFoundError("There is nothing at this address: it has a NUL character.")
            await _refuse(scope, send, nowhere)
            return
        limit = limit_for(scope["path"])
        client = _client_of(scope)
        body = bytearray()
        try:
            try:
                if _declared_length(scope) > limit:
                    raise _too_large(limit)
                async with asyncio.timeout(self._seconds):
                    is_whole = await self._read(body, receive, limit, client)
            except TimeoutError:
                late = f"The body did not arrive within {self._seconds:g} s"
                error = errors.TooSlowError(f"{late}: send it again, faster or shorter.")
                await _refuse(scope, send, error)
            except (errors.TooLargeError, errors.TooBusyError) as error:
                await _refuse(scope, send, error)
            else:
                if is_whole:
                    await self._application(scope, _replay(bytes(body), receive), send)
        finally:
            self._hold(client, -len(body))

    async def _read(self, body: bytearray, receive: Receive, limit: int, client: str) -> bool:
        """Read the whole body into ``body``; return False if the client disconnected.

        Raises:
            TooLargeError: The body exceeds the limit; the rest is not read.
            TooBusyError: All bodies together would exceed ``HELD_BYTES``, or the client's its
                share.
        """
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return False
            piece = message.get("body", b"")
            if len(body) + len(piece) > limit:
                raise _too_large(limit)
            if self._is_full(client, len(piece)):
                raise errors.TooBusyError(
                    "Too many requests are being read: send it again in a moment."
                )
            body += piece
            self._hold(client, len(piece))
            if not message.get("more_body", False):
                return True

    def _is_full(self, client: str, more: int) -> bool:
        """Return True if ``more`` bytes would exceed a limit; an empty client has no share."""
        if self._held + more > HELD_BYTES:
            return True
        return client != "" and self._held_of[client] + more > HELD_BYTES // CLIENT_SHARE

    def _hold(self, client: str, more: int) -> None:
        self._held += more
        if client:
            self._held_of[client] += more
            if not self._held_of[client]:
                del self._held_of[client]


def limit_for(path: str) -> int:
    """Return the limit in bytes for a body sent to the path."""
    return next((limit for prefix, limit in LIMITS if path.startswith(prefix)), OTHER_BYTES)


def _client_of(scope: Any) -> str:
    """Return the client whose share a request counts towards; empty for a proxy."""
    address = (scope.get("client") or ("",))[0]
    return "" if not address or is_proxy(address) else client_at(address)


def _declared_length(scope: Any) -> int:
    values = [value for name, value in scope["headers"] if name == b"content-length"]
    return max((int(value) for value in values if value.isdigit()), default=0)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a ``receive`` that yields the whole body once, then later messages."""
    left = [body]

    async def replay() -> Message:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return replay


def _too_large(limit: int) -> errors.TooLargeError:
    if limit % 1_000_000 == 0:
        return errors.TooLargeError(errors.describe_limit(limit))
    return errors.TooLargeError(
        f"The body is too large: at most {limit:,} bytes are accepted here."
    )


async def _refuse(scope: Any, send: Send, error: HeartbitError) -> None:
    status = errors.status_of(error)
    if scope["path"].startswith(("/api/", "/agui/")):
        kind = errors.PROBLEM
        content = json.dumps(
            errors.problem(status, errors.problem_code(type(error)), str(error))
        ).encode()
    elif scope["path"] in DOORS:
        kind, content = "application/json", mcp_error(str(error))
    elif scope["path"].startswith("/v1/"):
        kind = "application/json"
        content = json.dumps(
            error_body(status, errors.problem_code(type(error)), str(error))
        ).encode()
    elif scope["path"].startswith("/a2a"):
        kind = "application/json"
        content = json.dumps(rpc.error_body(None, rpc.REFUSED, str(error))).encode()
    else:
        kind, content = "text/plain; charset=utf-8", f"{error}\n".encode()
    headers = [
        (b"content-type", kind.encode()),
        (b"content-length", str(len(content)).encode()),
        (b"x-content-type-options", b"nosniff"),
    ]
    if isinstance(error, errors.TooSlowError | errors.TooBusyError):
        # After 413 the connection stays open for a moment: closed at once, it would be reset
        # while the client still sends, and the answer would be lost.
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
