"""One request and its response, over the connections of a guarded pool.

Bodies are decompressed here, so that their size and their time have a limit.
"""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import httpcore
import httpx

from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.http.allow import effective, is_public
from heartbit_site.base.http.errors import BlockedAddressError, too_large, too_late


@contextmanager
def httpx_errors(host: str = "the host") -> Iterator[None]:
    """Turn httpcore's errors into httpx's of the same name, which callers expect."""
    try:
        yield
    except (
        httpcore.TimeoutException,
        httpcore.NetworkError,
        httpcore.ProtocolError,
        httpcore.UnsupportedProtocol,
    ) as error:
        name = type(error).__name__
        kind: type[httpx.TransportError] = getattr(httpx, name)
        raise kind(f"Talking to {host} failed: {str(error) or name}") from error


_PIECE_BYTES = 65_536


class Body(httpx.AsyncByteStream):
    """A response body, decompressed, that raises at its size limit or deadline."""

    def __init__(
        self,
        response: httpcore.Response,
        *,
        compressed: bool,
        max_bytes: int,
        deadline: float | None,
    ) -> None:
        self._response = response
        # Of gzip or zlib.
        self._inflater = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32) if compressed else None
        self._max_bytes = max_bytes
        self._deadline = deadline

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for data in self._chunks():
            for piece in self._pieces(data):
                size += len(piece)
                if size > self._max_bytes:
                    raise too_large(self._max_bytes)
                yield piece

    def _pieces(self, data: bytes) -> Iterator[bytes]:
        """Decompress data in bounded pieces, so that a bomb is never held in memory as a whole."""
        if self._inflater is None:
            yield data
            return
        while data and not self._inflater.eof:
            try:
                piece = self._inflater.decompress(data, _PIECE_BYTES)
            except zlib.error as error:
                raise httpx.DecodingError(f"The response is compressed badly: {error}") from None
            data = self._inflater.unconsumed_tail
            yield piece

    async def _chunks(self) -> AsyncIterator[bytes]:
        chunks = aiter(self._response.aiter_stream())
        while True:
            try:
                with httpx_errors():
                    async with asyncio.timeout_at(self._deadline):
                        data = await anext(chunks, None)
            except TimeoutError:
                raise too_late() from None
            if data is None:
                return
            yield data

    async def aclose(self) -> None:
        """Return the connection to the pool."""
        with httpx_errors():
            await self._response.aclose()


def is_compressed(headers: httpx.Headers) -> bool:
    """Return True if the body has a compression that ``Body`` undoes.

    Raises:
        httpx.DecodingError: It has another compression.
    """
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding in ("gzip", "x-gzip", "deflate"):
        return True
    if encoding in ("identity", ""):
        return False
    raise httpx.DecodingError(
        f"The response is encoded as {encoding[:40]!r}, which was not requested."
    )


def declared_size(headers: httpx.Headers) -> int:
    """Return the declared size of a body in bytes; 0 when none is declared."""
    text = headers.get("content-length", "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0


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
        if compressed:  # the body below is decompressed and has a different length
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
