"""The guarded client: redirects, total time, and the assembly of its parts.

The pool's bookkeeping is quadratic in concurrent requests (httpcore): fine for tools, not for
model traffic, which has its own construction in ``agents/llm``.
"""

from __future__ import annotations

import asyncio
import functools
import ssl
from collections.abc import Iterable
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpcore
import httpx

from heartbit_site.base.http.allow import DEFAULT_PORTS, AddressPolicy, AllowRule
from heartbit_site.base.http.backend import GuardedBackend, Resolver, system_resolver
from heartbit_site.base.http.errors import InvalidURLError, OutboundLimitError, too_late
from heartbit_site.base.http.transport import DEADLINE, GuardedTransport

MAX_REDIRECTS = 5
MAX_RESPONSE_BYTES = 10_000_000
MAX_MODEL_BYTES = 1_000_000_000
MAX_CONNECTIONS = 100
DEADLINE_SECONDS = 30.0
SILENCE_SECONDS = 10.0
# A model may think for minutes; its caller sets its own limit for every wait.
MODEL_DEADLINE_SECONDS = 24 * 3600.0

# Headers that a redirect may carry to another origin: others may be secrets of the first one.
_PORTABLE_HEADERS = frozenset(
    "accept accept-encoding accept-language connection content-length content-type host "  # noqa: SIM905
    "idempotency-key transfer-encoding user-agent".split()
)

_LAST_ORIGIN = "heartbit.last_origin"  # request extension, which a redirect inherits


class GuardedClient(httpx.AsyncClient):
    """A client for requests that a model or a remote party can steer.

    It ignores proxy variables and ``.netrc``, keeps no cookies, follows at most five redirects and
    drops everything that may be a secret when a redirect leaves the origin.

    Args:
        allow: Exceptions beyond the public internet, from ``allow.parse_allow``.
        ports: Ports that are open on public addresses.
        max_response_bytes: Limit of one response body after decompression.
        deadline_seconds: Limit of one request in total: every redirect, and the body.
        silence_seconds: Limit of each wait for data.
        follow_redirects: False to return redirects as responses.
        max_connections: Limit of concurrent connections; None for none.
        resolver: Replaced in tests.
        ssl_context: Replaces the default one (certifi's authorities).
    """

    def __init__(
        self,
        *,
        allow: Iterable[AllowRule] = (),
        ports: Iterable[int] = DEFAULT_PORTS,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
        deadline_seconds: float = DEADLINE_SECONDS,
        silence_seconds: float = SILENCE_SECONDS,
        follow_redirects: bool = True,
        max_connections: int | None = MAX_CONNECTIONS,
        resolver: Resolver = system_resolver,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        policy = AddressPolicy(allow=tuple(allow), ports=frozenset(ports))
        pool = httpcore.AsyncConnectionPool(
            ssl_context=ssl_context or public_authorities(),
            max_connections=max_connections,
            max_keepalive_connections=20,
            keepalive_expiry=5.0,
            network_backend=GuardedBackend(policy, resolver=resolver),
        )
        super().__init__(
            transport=GuardedTransport(pool, max_response_bytes=max_response_bytes),
            trust_env=False,
            follow_redirects=follow_redirects,
            max_redirects=MAX_REDIRECTS,
            timeout=httpx.Timeout(silence_seconds, connect=5.0),
            # One client serves many runs: a cookie set for one must not be sent by another.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            event_hooks={"request": [_prepare]},
        )
        self._deadline_seconds = deadline_seconds

    def build_request(self, method: str, url: httpx.URL | str, **parts: Any) -> httpx.Request:
        """Build a request; every other method calls this first.

        Raises:
            InvalidURLError: The URL cannot be read.
        """
        try:
            return super().build_request(method, url, **parts)
        except httpx.InvalidURL as error:
            raise InvalidURLError(f"The URL cannot be read: {error}.") from None

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send a request, follow its redirects and, unless streaming, read the response.

        Raises:
            BlockedAddressError: A hop leads to an address that is closed to tools.
            OutboundLimitError: Too slow in total, too many redirects, or too large.
            httpx.HTTPError: As in httpx.
        """
        deadline = asyncio.get_running_loop().time() + self._deadline_seconds
        request.extensions = {**request.extensions, DEADLINE: deadline}
        try:
            async with asyncio.timeout_at(deadline):
                return await super().send(request, **options)
        except TimeoutError:
            raise too_late() from None
        except httpx.TooManyRedirects:
            raise OutboundLimitError(
                f"More than {MAX_REDIRECTS} redirects; the last was not followed."
            ) from None


def guarded_model_client(*, allow: Iterable[AllowRule] = ()) -> httpx.AsyncClient:
    """Return a guarded client for model servers at an address that a user entered.

    The client follows no redirect, which would send a prompt to another host, and sets no time
    limits: ``agents.llm`` limits each silence, the whole call and its size.

    Args:
        allow: As for ``GuardedClient``.
    """
    return GuardedClient(
        allow=allow,
        max_response_bytes=MAX_MODEL_BYTES,
        deadline_seconds=MODEL_DEADLINE_SECONDS,
        silence_seconds=MODEL_DEADLINE_SECONDS,
        follow_redirects=False,
        max_connections=None,
    )


@functools.cache
def public_authorities() -> ssl.SSLContext:
    """Return certifi's authorities, whatever the environment says; loading takes about 50 ms."""
    return httpx.create_ssl_context(trust_env=False)


async def _prepare(request: httpx.Request) -> None:
    """Restrict a request before each hop: its compression, and what leaves the first origin."""
    # Only gzip, which ``bodies`` bounds: brotli and zstd bombs could not be bounded.
    request.headers["accept-encoding"] = "gzip"
    origin = _origin(request.url)
    if request.extensions.get(_LAST_ORIGIN, origin) != origin:
        for name in set(request.headers) - _PORTABLE_HEADERS:
            del request.headers[name]
    request.extensions = {**request.extensions, _LAST_ORIGIN: origin}


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    default = {"http": 80, "https": 443}.get(url.scheme)
    return url.scheme, url.host, url.port or default
