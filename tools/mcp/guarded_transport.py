"""The SDK's HTTP requests over the guarded client, with all of its checks.

The SDK speaks httpx2; this transport passes each request on to the guarded client (httpx), which
checks addresses where it connects and bounds size and time. The SDK follows redirects by itself,
within the server's origin only, and every hop comes through here again.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from typing import Final

import httpx
import httpx2

from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.http.client import GuardedClient
from heartbit_site.base.http.errors import BlockedAddressError
from heartbit_site.base.json_values import MAX_VALUES, ValueCount
from tools.mcp.guarded_client import SILENCE_SECONDS
from tools.mcp.message_limits import MessagePace

#: Error code of a request whose token is refused; the error's data is the challenge.
REFUSED: Final = -32_091
_REFUSALS: Final = (401, 403)
_MOST_CHARACTERS: Final = 4_000
_EVENTS: Final = "text/event-stream"
#: End of an event in a stream, where the count of its values restarts.
_EVENT_END: Final = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LINE_ENDS: Final = 6  # of an event with a name and data, in its longest form
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, BlockedAddressError)


def sdk_client(transport: GuardedMcpTransport, headers: Mapping[str, str]) -> httpx2.AsyncClient:
    """Return a client for the SDK, with headers that it sends to the server's own origin."""
    return httpx2.AsyncClient(
        transport=transport,
        headers=dict(headers),
        trust_env=False,
        timeout=httpx2.Timeout(SILENCE_SECONDS, connect=5.0),
    )


class GuardedMcpTransport(httpx2.AsyncBaseTransport):
    """A transport of httpx2 over the guarded client, which it does not close.

    Attributes:
        status: Status of the last response; 0 before the first.
    """

    def __init__(self, guarded: GuardedClient) -> None:
        self._guarded = guarded
        self._pace = MessagePace()
        self.status = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; the response's body is limited, and unread.

        Raises:
            httpx2.ConnectError: Nothing was sent, for the guarded client's reason.
            httpx2.ReadError: The request was sent, and there is no response.
        """
        body = await request.aread()
        self._pace.grant()
        try:
            response = await self._guarded.send(
                self._guarded.build_request(
                    request.method, str(request.url), headers=request.headers.raw, content=body
                ),
                stream=True,
            )
        except (*_NOT_SENT, httpx.HTTPError, HeartbitError) as error:
            kind = httpx2.ConnectError if isinstance(error, _NOT_SENT) else httpx2.ReadError
            raise kind(str(error), request=request) from error
        self.status = response.status_code
        if self.status in _REFUSALS:
            challenge = response.headers.get("www-authenticate", "")
            await response.aclose()
            return _refusal(self.status, challenge, request)
        return httpx2.Response(
            response.status_code,
            headers=response.headers.raw,
            stream=_Body(response, request, self._pace),
            request=request,
        )


def _refusal(status: int, challenge: str, request: httpx2.Request) -> httpx2.Response:
    """Return a refusal as a protocol error, which the SDK raises in the refused request."""
    error = {"code": REFUSED, "message": str(status), "data": challenge[:_MOST_CHARACTERS]}
    return httpx2.Response(
        status, json={"jsonrpc": "2.0", "id": None, "error": error}, request=request
    )


class _Body(httpx2.AsyncByteStream):
    """A response's body, whose messages are counted before the SDK parses them."""

    def __init__(
        self, response: httpx.Response, request: httpx2.Request, pace: MessagePace
    ) -> None:
        self._response = response
        self._request = request
        self._pace = pace
        self._is_stream = response.headers.get("content-type", "").startswith(_EVENTS)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        count = ValueCount()
        try:
            async for data in self._response.aiter_raw():
                parts = _EVENT_END.split(data) if self._is_stream else [data]
                await self._pace.take(self._messages(data), len(data))
                for number, part in enumerate(parts):
                    if number:
                        count.total = 0
                    if count.feed(part) > MAX_VALUES:
                        message = f"it sent a message of more than {MAX_VALUES} values"
                        raise httpx2.ReadError(message, request=self._request)
                yield data
        except (httpx.HTTPError, HeartbitError) as error:
            raise httpx2.ReadError(str(error), request=self._request) from error

    def _messages(self, data: bytes) -> float:
        """Return the number of messages of a stream by the ends of their lines."""
        ends = data.count(b"\n") + data.count(b"\r") if self._is_stream else 0
        return ends / _LINE_ENDS

    async def aclose(self) -> None:
        await self._response.aclose()
