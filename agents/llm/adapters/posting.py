"""Posting of a prompt, with a streamed answer, over the endpoint's client.

For the process's own client httpx's client layer is bypassed: its request and response objects,
redirects, cookies and text decoding cost more processor time than the rest of a call. Any other
client, above all the guarded one for addresses typed by users, is used as it is, because its checks
are in that layer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import aiohttp
import httpx

from agents.llm.client import ProviderClient
from heartbit_site.base.http.errors import InvalidURLError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

#: Errors of the two layers for addresses, connections and transfers.
BROKEN = (httpx.HTTPError, aiohttp.ClientError, OSError)

_NO_ADDRESS = (
    InvalidURLError,
    httpx.InvalidURL,
    httpx.UnsupportedProtocol,
    aiohttp.InvalidURL,
)


class NoAddressError(Exception):
    """The URL is not valid for any client."""


class Answer(Protocol):
    """Head of an answer, and its body to come."""

    @property
    def status(self) -> int:
        """HTTP status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers; names in any case."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body's bytes as they arrive, undecoded."""
        ...

    async def aclose(self) -> None:
        """Release the connection, or close it if the body was not read to its end."""
        ...


async def post(
    client: httpx.AsyncClient, url: str, content: bytes, headers: Mapping[str, str]
) -> Answer:
    """Post ``content``; return when the answer's head has arrived.

    No redirect is followed, whatever the client's settings, so that a prompt goes only to the given
    URL.

    Raises:
        NoAddressError: The URL is not valid.
        Exception: One of ``BROKEN``: the server could not be reached or closed the connection.
    """
    try:
        if isinstance(client, ProviderClient):
            return _Direct(
                await client.session.post(url, data=content, headers=headers, allow_redirects=False)
            )
        request = client.build_request("POST", url, content=content, headers=dict(headers))
        return _Through(await client.send(request, stream=True, follow_redirects=False))
    except _NO_ADDRESS as error:
        raise NoAddressError(str(error).rstrip(".")) from error


class _Direct:
    """Answer of aiohttp."""

    __slots__ = ("_response", "headers", "status")

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers

    def chunks(self) -> AsyncIterator[bytes]:
        return aiter(self._response.content.iter_any())

    async def aclose(self) -> None:
        self._response.release()
        await self._response.wait_for_close()


class _Through:
    """Answer of httpx."""

    __slots__ = ("_response", "headers", "status")

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers

    def chunks(self) -> AsyncIterator[bytes]:
        return self._response.aiter_bytes()

    async def aclose(self) -> None:
        await self._response.aclose()
