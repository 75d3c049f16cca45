"""Post a prompt and read the answer as it comes, over whichever client the endpoint was given.

A process's own client is spoken to past httpx's client layer: its request and response objects,
redirects, cookies and text decoding cost more processor time than all else of a call. Any other
client, above all the guarded one for addresses that somebody typed, is used as it is: what it
checks happens in that very layer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import aiohttp
import httpx

from agents.llm.client import ProviderClient
from heartbit_site.base.http import InvalidURLError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

#: What the two layers raise when an address, a connection or a transfer is no good.
BROKEN = (httpx.HTTPError, aiohttp.ClientError, OSError)

_NO_ADDRESS = (
    InvalidURLError,
    httpx.InvalidURL,
    httpx.UnsupportedProtocol,
    aiohttp.InvalidURL,
)


class NoAddressError(Exception):
    """The URL cannot be posted to, whoever tries."""


class Answer(Protocol):
    """The head of an answer, and its body to come."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers; names in any case."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """The body's bytes as they arrive; plain ones, if ``content-encoding`` says so."""
        ...

    async def aclose(self) -> None:
        """Release the connection, or close it when the body was not read to its end."""
        ...


async def post(
    client: httpx.AsyncClient, url: str, content: bytes, headers: Mapping[str, str]
) -> Answer:
    """Post ``content``; the answer's head is here, its body is not.

    No redirect is followed, whatever the client does elsewhere: a prompt goes where it was sent,
    or nowhere.

    Raises:
        NoAddressError: The URL is none.
        Exception: One of ``BROKEN``: the server could not be reached or broke off.
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
    """An answer of aiohttp's."""

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
    """An answer of httpx's."""

    __slots__ = ("_response", "headers", "status")

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers

    def chunks(self) -> AsyncIterator[bytes]:
        return self._response.aiter_bytes()

    async def aclose(self) -> None:
        await self._response.aclose()
