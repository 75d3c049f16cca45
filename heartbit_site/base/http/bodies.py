"""Response bodies, decompressed here so that their size and their time have a limit."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Iterator

import httpcore
import httpx

from heartbit_site.base.http.conversion import httpx_errors
from heartbit_site.base.http.errors import too_large, too_late

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
        """Decompress data in bounded pieces: a bomb never exists in memory whole."""
        if self._inflater is None:
            yield data
            return
        while data and not self._inflater.eof:
            try:
                piece = self._inflater.decompress(data, _PIECE_BYTES)
            except zlib.error as error:
                raise httpx.DecodingError(f"The answer's compression is broken: {error}") from None
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
        f"The answer is encoded as {encoding[:40]!r}, which was not asked for."
    )


def declared_size(headers: httpx.Headers) -> int:
    """Return the declared size of a body in bytes; 0 when none is declared."""
    text = headers.get("content-length", "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0
