"""One request and its response, over the connections of a guarded pool."""

from __future__ import annotations

import re

import httpcore
import httpx

from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.http.addresses import effective, is_public
from heartbit_site.base.http.bodies import Body, declared_size, is_compressed
from heartbit_site.base.http.conversion import httpx_errors
from heartbit_site.base.http.errors import BlockedAddressError, too_large

FROM_PRIVATE_HOST = "heartbit.private_host"  # response extension: True unless the peer is public
DEADLINE = "heartbit.deadline"  # request extension: absolute time of the loop's clock, in seconds

# ``Response.text`` would run the codec of "charset=zlib": another bomb; punycode is quadratic.
_CHARSET = re.compile(
    r"utf-?(8|16|32)(-?[lb]e)?|(us-)?ascii|iso-?8859-?\d+|latin-?1|windows-\d+|koi8-[ru]|shift_jis|"
    r"euc-(jp|kr)|gb2312|gbk|gb18030|big5"
)


class GuardedTransport(httpx.AsyncBaseTransport):
    """A transport over guarded connections."""

    def __init__(self, pool: httpcore.AsyncConnectionPool, *, max_response_bytes: int) -> None:
        self._pool = pool
        self._max_response_bytes = max_response_bytes

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; the body of the response is limited, and unread.

        Raises:
            BlockedAddressError: The URL leads to an address that is closed to tools.
            OutboundLimitError: The response declares a size above the limit.
            httpx.TransportError: As in httpx.
            httpx.DecodingError: The response has a compression that was not requested.
        """
        url = request.url
        if url.scheme not in ("http", "https"):
            raise BlockedAddressError(f"Only http and https are open to tools, not {url.scheme!r}.")
        if not isinstance(request.stream, httpx.AsyncByteStream):
            raise TypeError("a request of the guarded client needs an async body")
        inner = httpcore.Request(
            method=request.method,
            url=httpcore.URL(
                scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
            ),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with httpx_errors(url.host):
            response = await self._pool.handle_async_request(inner)
        return await self._bounded(response, request)

    async def aclose(self) -> None:
        """Close every connection."""
        with httpx_errors():
            await self._pool.aclose()

    async def _bounded(self, response: httpcore.Response, request: httpx.Request) -> httpx.Response:
        headers = httpx.Headers(response.headers)
        try:
            compressed = is_compressed(headers)
            declared = 0 if compressed or request.method == "HEAD" else declared_size(headers)
            if declared > self._max_response_bytes:
                raise too_large(self._max_response_bytes)
        except (HeartbitError, httpx.DecodingError):
            await response.aclose()
            raise
        if compressed:  # the body below is decompressed, and has another length
            del headers["content-encoding"]
            headers.pop("content-length", None)
        body = Body(
            response,
            compressed=compressed,
            max_bytes=self._max_response_bytes,
            deadline=request.extensions.get(DEADLINE),
        )
        extensions = {**response.extensions, FROM_PRIVATE_HOST: _is_private(response)}
        result = httpx.Response(
            response.status, headers=headers, stream=body, extensions=extensions
        )
        if not _CHARSET.fullmatch((result.charset_encoding or "utf-8").lower()):
            result.encoding = "utf-8"
        return result


def _is_private(response: httpcore.Response) -> bool:
    """Return True unless the other end of the connection is on the public internet."""
    stream = response.extensions.get("network_stream")
    peer = stream.get_extra_info("server_addr") if stream is not None else None
    return peer is None or not is_public(effective(str(peer[0])))
