"""Posting of a prompt, with a streamed answer, over the endpoint's client.

For the process's own client httpx's client layer is bypassed: its request and response objects,
redirects, cookies and text decoding cost more processor time than the rest of a call. Any other
client, above all the guarded one for addresses typed by users, is used as it is, because its checks
are in that layer.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial

import aiohttp
import httpx

from agents.llm.client import ProviderClient
from heartbit_site.base.http.errors import InvalidURLError

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


@dataclass(frozen=True, slots=True)
class Answer:
    """Head of an answer, and its body to come.

    Attributes:
        headers: Names in any case.
        chunks: The body's bytes as they arrive, undecoded.
        aclose: Releases the connection, or closes it if the body was not read to its end.
    """

    status: int
    headers: Mapping[str, str]
    chunks: AsyncIterator[bytes]
    aclose: Callable[[], Awaitable[None]]


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
            closing = headers.get("connection") == "close"
            session = client.single_use if closing else client.session
            direct = await session.post(url, data=content, headers=headers, allow_redirects=False)
            chunks = aiter(direct.content.iter_any())
            return Answer(direct.status, direct.headers, chunks, partial(_release, direct))
        request = client.build_request("POST", url, content=content, headers=dict(headers))
        through = await client.send(request, stream=True, follow_redirects=False)
        return Answer(through.status_code, through.headers, through.aiter_bytes(), through.aclose)
    except _NO_ADDRESS as error:
        raise NoAddressError(str(error).rstrip(".")) from error


async def _release(response: aiohttp.ClientResponse) -> None:
    response.release()
    await response.wait_for_close()
