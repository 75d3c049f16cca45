"""HTTP client that every model adapter of a process shares."""

from __future__ import annotations

import ssl
from typing import Any

import aiohttp
import httpx
import httpx_aiohttp


class ProviderClient(httpx.AsyncClient):
    """httpx's interface over aiohttp's connections, for SDKs; adapters use the sessions themselves.

    Attributes:
        session: Keeps connections for the next request.
        single_use: Closes each connection after its answer. aiohttp reuses a connection even if the
            request's header said "close", and the next request is lost with it.
    """

    def __init__(self, tls: ssl.SSLContext) -> None:
        self.session = _session(aiohttp.TCPConnector(limit=0, ssl=tls))
        self.single_use = _session(aiohttp.TCPConnector(limit=0, ssl=tls, force_close=True))
        # httpx itself must not read the environment: for a proxy it would build its own transport,
        # which searches its pool in quadratic time.
        super().__init__(
            transport=httpx_aiohttp.AiohttpTransport(verify=tls, client=self.session),
            timeout=None,  # the callers limit every wait
            trust_env=False,
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await super().aclose()
        await self.single_use.close()

    async def __aexit__(self, *error: Any) -> None:
        """Close all connections; httpx closes its own transport here, and does not call aclose."""
        await super().__aexit__(*error)
        await self.single_use.close()


def create_client() -> ProviderClient:
    """Return the client for configured model providers; one per process and event loop.

    Call it on the loop that will use it, keep it for that loop's life, and end it with
    ``aclose()``. It is not for addresses that a model or a user chose: those need the guarded
    client in ``heartbit_site.base``.

    Neither this client nor the transport retries, follows redirects, keeps cookies or limits the
    number of connections: runs are limited elsewhere, and a limit here would be a hidden queue.

    Proxies from the environment are not used: otherwise a worker's environment would determine the
    route of prompts and keys, and a model on 127.0.0.1 must not be reached through a proxy.
    """
    # One context for all layers: the certificates of certifi, or of SSL_CERT_FILE when it is set.
    return ProviderClient(httpx.create_ssl_context())


def _session(connector: aiohttp.TCPConnector) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=None),  # Exchange limits every wait
        trust_env=False,
    )
