"""The guarded HTTP client: the only way out for a request that a model can steer (spec F7, S1).

Usage::

    async with guarded_client(allow=parse_allow("wiki.internal:8080, 10.1.0.0/16:443")) as http:
        response = await http.get(url)  # BlockedAddressError, OutboundLimitError or httpx.HTTPError

The check sits in an ``httpcore.AsyncNetworkBackend``, given to an ``httpcore.AsyncConnectionPool``
under our own ``httpx.AsyncBaseTransport``. All three are public extension points of the pinned
versions (httpcore 1.0, httpx 0.28); httpx's own ``AsyncHTTPTransport`` has no parameter for the
backend, and checking a URL before the request leaves the gap that DNS rebinding uses. Every TCP
connect passes ``GuardedBackend.connect_tcp`` (first hop, redirect, reopened pool): it resolves
once, wants every answer to be public, and opens the socket to that very address; TLS still names
and verifies the host of the URL. The lists of addresses are our own, because
``ipaddress.is_global`` changes between Python patch releases and lets NAT64, 6to4 and multicast
through (measured; ``tests/base/test_http_guard.py``).

The pool's bookkeeping is quadratic in concurrent requests (httpcore): fine for tools, not for
model traffic, which has its own construction in ``agents/llm``.
"""

from __future__ import annotations

import asyncio
import functools
import re
import socket
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import TYPE_CHECKING, Literal

import httpcore
import httpx

from heartbit_site.base.errors import ConfigurationError, HeartbitError

if TYPE_CHECKING:
    import ssl

    from httpx._client import UseClientDefault
    from httpx._types import AuthTypes

Address = IPv4Address | IPv6Address
Resolver = Callable[[str, int], Awaitable[Sequence[str]]]

DEFAULT_PORTS = frozenset({80, 443})
MAX_REDIRECTS = 5
MAX_RESPONSE_BYTES = 10_000_000
DEADLINE_SECONDS = 30.0

_PIECE_BYTES = 65_536
_DEADLINE = "heartbit.deadline"  # request extension: absolute time of the loop's clock, in seconds

# IANA special-purpose registries (IPv4 2025-10, IPv6 2025-10); 168.63.129.16 is Azure's host agent.
_DENIED_4 = tuple(
    IPv4Network(text)
    for text in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32"),
        *("169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24"),
        *("192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
        *("224.0.0.0/4", "240.0.0.0/4"),
    )
)
_GLOBAL_6 = IPv6Network("2000::/3")
_DENIED_6 = tuple(
    IPv6Network(text) for text in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
)
_NAT64 = IPv6Network("64:ff9b::/96")

# What a redirect may carry to another origin: anything else may be a secret of the first one.
_PORTABLE_HEADERS = frozenset(
    "accept accept-encoding accept-language connection content-length content-type host "  # noqa: SIM905
    "idempotency-key transfer-encoding user-agent".split()
)
# ``Response.text`` would run the codec of "charset=zlib": another bomb; punycode is quadratic.
_CHARSET = re.compile(
    r"utf-?(8|16|32)(-?[lb]e)?|(us-)?ascii|iso-?8859-?\d+|latin-?1|windows-\d+|koi8-[ru]|shift_jis|"
    r"euc-(jp|kr)|gb2312|gbk|gb18030|big5"
)
_ALLOW_ENTRY = re.compile(
    r"(?P<bracketed>\[[^\]\s]+\])?(?P<plain>[^\[\]:\s]+)?(?::(?P<port>\d{1,5}|\*))?"
)
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_.-]{0,251}[a-z0-9_])?")


class BlockedAddressError(HeartbitError):
    """The request would leave the public internet, or use a port or scheme closed to tools."""


class OutboundLimitError(HeartbitError):
    """The request took too long, was redirected too often, or its answer is too large."""


@dataclass(frozen=True, slots=True)
class AllowRule:
    """One entry of the operator's allow-list.

    Attributes:
        target: A host name, matched exactly (whatever it resolves to), or a network.
        port: The port it opens; ``None`` means the client's usual ports, ``"*"`` every port.
    """

    target: str | IPv4Network | IPv6Network
    port: int | Literal["*"] | None = None

    def permits(self, host: str, address: Address, port: int) -> bool:
        """Whether this rule names the host or holds the address; ``port`` is compared elsewhere."""
        if isinstance(self.target, str):
            matches = host.lower().rstrip(".") == self.target
        else:
            matches = address.version == self.target.version and address in self.target
        return matches and self.port in (None, "*", port)


def parse_allow(text: str) -> tuple[AllowRule, ...]:
    """The rules of an allow-list: entries separated by commas or white space.

    An entry is a host name, an address or a network, with an optional port (``*`` for every
    port): ``wiki.internal:8080``, ``10.1.0.0/16``, ``127.0.0.1/32:*``, ``[fd00::/8]:443``.

    Raises:
        ConfigurationError: An entry is none of these.
    """
    return tuple(_allow_rule(entry) for entry in re.split(r"[\s,]+", text) if entry)


def _allow_rule(entry: str) -> AllowRule:
    match = _ALLOW_ENTRY.fullmatch(entry)
    if match is None or (match["bracketed"] is None) == (match["plain"] is None):
        raise ConfigurationError(
            f"HEARTBIT_HTTP_ALLOW: {entry!r} is not host[:port] or network[:port]; "
            "write IPv6 in brackets, for example [fd00::/8]:443."
        )
    port: int | Literal["*"] | None = None
    if match["port"] is not None:
        port = "*" if match["port"] == "*" else int(match["port"])
    if isinstance(port, int) and not 1 <= port <= 65_535:
        raise ConfigurationError(f"HEARTBIT_HTTP_ALLOW: {entry!r} has no port from 1 to 65535.")
    return AllowRule(_allow_target(match["plain"] or match["bracketed"][1:-1], entry), port)


def _allow_target(text: str, entry: str) -> str | IPv4Network | IPv6Network:
    try:
        return ip_network(text)
    except ValueError as error:
        host = text.lower().rstrip(".")
        # Digits and slashes only look like a network: a typo there must not become a host name.
        if "/" in host or re.fullmatch(r"[\d.]+", host) or not _HOST.fullmatch(host):
            raise ConfigurationError(f"HEARTBIT_HTTP_ALLOW: {entry!r}: {error}.") from None
        return host


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """Which addresses and ports a connection may use."""

    allow: tuple[AllowRule, ...] = ()
    ports: frozenset[int] = DEFAULT_PORTS

    def check(self, host: str, port: int, addresses: Sequence[str]) -> None:
        """Refuse the host unless every address is public, or allowed by a rule, at this port.

        One bad answer among good ones refuses the host: which one is used must not matter.

        Raises:
            BlockedAddressError: The addresses themselves are not named: what an internal name
                resolves to is nothing a model should learn.
        """
        if not addresses:
            raise BlockedAddressError(f"The host {host} has no address.")
        for text in addresses:
            self._check_one(host, port, _effective(text))

    def _check_one(self, host: str, port: int, address: Address) -> None:
        rules = [rule for rule in self.allow if rule.permits(host, address, port)]
        if any(rule.port is not None for rule in rules):
            return
        if port not in self.ports:
            ports = ", ".join(str(number) for number in sorted(self.ports))
            raise BlockedAddressError(
                f"Port {port} of {host} is closed to tools (open: {ports}); an operator can add "
                f"'{host}:{port}' to HEARTBIT_HTTP_ALLOW."
            )
        if not rules and not is_public(address):
            raise BlockedAddressError(
                f"The host {host} is not on the public internet, so tools may not reach it; an "
                "operator can add it to HEARTBIT_HTTP_ALLOW."
            )


def is_public(address: Address) -> bool:
    """Whether an address is globally routable unicast, by our own lists."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _DENIED_4)
    return address in _GLOBAL_6 and not any(address in network for network in _DENIED_6)


def _effective(text: str) -> Address:
    """The address a packet really goes to: IPv4 inside mapped and NAT64 addresses is unwrapped.

    Compatible (``::a.b.c.d``), 6to4 and Teredo addresses are denied as the IPv6 they are.
    """
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


async def system_resolver(host: str, port: int) -> Sequence[str]:
    """Every address of a host, in the order of preference of the operating system."""
    answers = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(answer[4][0]) for answer in answers))


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Opens TCP connections to checked addresses only, and nothing but TCP.

    Args:
        policy: What is open.
        resolver: How a host becomes addresses; asked exactly once a connect.
        inner: What opens the socket; it is only ever given literal addresses.
    """

    def __init__(
        self,
        policy: AddressPolicy,
        *,
        resolver: Resolver = system_resolver,
        inner: httpcore.AsyncNetworkBackend | None = None,
    ) -> None:
        self._policy = policy
        self._resolver = resolver
        self._inner = inner or httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Resolve, check, connect to one of the checked addresses, check the peer."""
        addresses = await self._addresses(host, port, timeout)
        self._policy.check(host, port, addresses)
        failure: Exception = httpcore.ConnectError("no address")
        for address in addresses:
            try:
                stream = await self._inner.connect_tcp(
                    address, port, timeout, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
                continue
            await _check_peer(stream, host, address)
            return stream
        raise failure

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Refuse: a unix socket is always a service of this machine."""
        raise BlockedAddressError(f"Unix sockets are closed to tools: {path}.")

    async def sleep(self, seconds: float) -> None:
        """Wait; the pool uses it between its own retries, of which there are none."""
        await self._inner.sleep(seconds)

    async def _addresses(self, host: str, port: int, timeout: float | None) -> Sequence[str]:
        try:
            async with asyncio.timeout(timeout):
                return await self._resolver(host, port)
        except TimeoutError:
            raise httpcore.ConnectTimeout("resolving its name took too long") from None
        except (OSError, ValueError) as error:  # ValueError: no name at all, by IDNA or a NUL
            raise httpcore.ConnectError(f"its name cannot be resolved ({error})") from None


async def _check_peer(stream: httpcore.AsyncNetworkStream, host: str, address: str) -> None:
    """The other end is the address that was checked, whatever happened below this code."""
    peer = stream.get_extra_info("server_addr")
    if peer is None or _effective(str(peer[0])) != _effective(address):
        await stream.aclose()
        raise BlockedAddressError(f"The connection to {host} ended at another address.")


class _Inflater:
    """Undoes gzip or zlib in bounded pieces: a bomb never exists in memory as a whole."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data and not self._zlib.eof:
            try:
                piece = self._zlib.decompress(data, _PIECE_BYTES)
            except zlib.error as error:
                raise httpx.DecodingError(f"The answer's compression is broken: {error}") from None
            data = self._zlib.unconsumed_tail
            yield piece


class _Body(httpx.AsyncByteStream):
    """A response body, decompressed, that ends with an error at its size limit or deadline."""

    def __init__(
        self,
        response: httpcore.Response,
        *,
        compressed: bool,
        max_bytes: int,
        deadline: float | None,
    ) -> None:
        self._response = response
        self._inflater = _Inflater() if compressed else None
        self._max_bytes = max_bytes
        self._deadline = deadline

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for data in self._chunks():
            for piece in self._inflater.feed(data) if self._inflater else (data,):
                size += len(piece)
                if size > self._max_bytes:
                    raise _too_large(self._max_bytes)
                yield piece

    async def _chunks(self) -> AsyncIterator[bytes]:
        chunks = aiter(self._response.aiter_stream())
        while True:
            try:
                with _httpx_errors():
                    async with asyncio.timeout_at(self._deadline):
                        data = await anext(chunks, None)
            except TimeoutError:
                raise _too_late() from None
            if data is None:
                return
            yield data

    async def aclose(self) -> None:
        with _httpx_errors():
            await self._response.aclose()


class _GuardedTransport(httpx.AsyncBaseTransport):
    """Sends one request over guarded connections."""

    def __init__(self, pool: httpcore.AsyncConnectionPool, *, max_response_bytes: int) -> None:
        self._pool = pool
        self._max_response_bytes = max_response_bytes

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
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
        with _httpx_errors(url.host):
            response = await self._pool.handle_async_request(inner)
        return await self._bounded(response, request)

    async def aclose(self) -> None:
        with _httpx_errors():
            await self._pool.aclose()

    async def _bounded(self, response: httpcore.Response, request: httpx.Request) -> httpx.Response:
        headers = httpx.Headers(response.headers)
        try:
            compressed = _is_compressed(headers)
            declared = 0 if compressed or request.method == "HEAD" else _declared_size(headers)
            if declared > self._max_response_bytes:
                raise _too_large(self._max_response_bytes)
        except (HeartbitError, httpx.DecodingError):
            await response.aclose()
            raise
        if compressed:  # the body below is plain, and of another length
            del headers["content-encoding"]
            headers.pop("content-length", None)
        body = _Body(
            response,
            compressed=compressed,
            max_bytes=self._max_response_bytes,
            deadline=request.extensions.get(_DEADLINE),
        )
        result = httpx.Response(
            response.status, headers=headers, stream=body, extensions=response.extensions
        )
        if not _CHARSET.fullmatch((result.charset_encoding or "utf-8").lower()):
            result.encoding = "utf-8"
        return result


class _GuardedClient(httpx.AsyncClient):
    """An ``AsyncClient`` whose redirects and total time are limited."""

    def __init__(self, transport: httpx.AsyncBaseTransport, *, deadline_seconds: float) -> None:
        super().__init__(
            transport=transport,
            trust_env=False,
            follow_redirects=True,
            max_redirects=MAX_REDIRECTS,
            timeout=httpx.Timeout(10.0, connect=5.0),
            # One client serves many runs: a cookie set for one must not be sent by another.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        )
        self._deadline_seconds = deadline_seconds

    async def send(
        self,
        request: httpx.Request,
        *,
        stream: bool = False,
        auth: AuthTypes | UseClientDefault | None = httpx.USE_CLIENT_DEFAULT,
        follow_redirects: bool | UseClientDefault = httpx.USE_CLIENT_DEFAULT,
    ) -> httpx.Response:
        """Send a request, follow its redirects and, unless streaming, read the answer.

        Raises:
            BlockedAddressError: A hop leads where tools may not go.
            OutboundLimitError: Too slow in total, too many redirects, or too large.
            httpx.HTTPError: As usual.
        """
        follow = (
            self.follow_redirects if not isinstance(follow_redirects, bool) else follow_redirects
        )
        deadline = asyncio.get_running_loop().time() + self._deadline_seconds
        request.extensions = {**request.extensions, _DEADLINE: deadline}
        try:
            async with asyncio.timeout_at(deadline):
                response = await self._follow(request, auth, limit=MAX_REDIRECTS if follow else 0)
                if not stream:
                    await _read(response)
        except TimeoutError:
            raise _too_late() from None
        if follow and response.next_request is not None:
            await response.aclose()
            raise OutboundLimitError(
                f"More than {MAX_REDIRECTS} redirects; the last was not followed."
            )
        return response

    async def _follow(
        self, request: httpx.Request, auth: AuthTypes | UseClientDefault | None, *, limit: int
    ) -> httpx.Response:
        """The last response after at most ``limit`` redirects, its body unread."""
        history: list[httpx.Response] = []
        while True:
            # Only what is undone below is advertised; brotli and zstd bombs cannot be bounded here.
            request.headers["accept-encoding"] = "gzip"
            response = await super().send(request, stream=True, auth=auth, follow_redirects=False)
            response.history = list(history)
            onward = response.next_request
            if onward is None or len(history) >= limit:
                return response
            await response.aclose()
            history.append(response)
            if _origin(onward.url) != _origin(request.url):
                _drop_secrets(onward)
            # Without auth=None the client would apply its own credentials to the new origin.
            request, auth = onward, None


def guarded_client(
    *,
    allow: Iterable[AllowRule | str] = (),
    ports: Iterable[int] = DEFAULT_PORTS,
    max_response_bytes: int = MAX_RESPONSE_BYTES,
    deadline_seconds: float = DEADLINE_SECONDS,
    resolver: Resolver = system_resolver,
    ssl_context: ssl.SSLContext | None = None,
) -> httpx.AsyncClient:
    """A client for requests that a model or a remote party can steer; see the module's text.

    It ignores proxy variables and ``.netrc``, keeps no cookies, follows at most five redirects and
    drops everything that may be a secret when one leaves the origin.

    Args:
        allow: What an operator opens besides the public internet: rules, or text for
            ``parse_allow``.
        ports: Open on public addresses.
        max_response_bytes: Limit of one answer's body after decompression.
        deadline_seconds: Limit of one request in total: every redirect, and the body.
        resolver: Replaced in tests.
        ssl_context: Replaces the default one (certifi's authorities).

    Raises:
        ConfigurationError: An ``allow`` text cannot be read.
    """
    rules: list[AllowRule] = []
    for entry in allow:
        rules.extend(parse_allow(entry) if isinstance(entry, str) else (entry,))
    policy = AddressPolicy(allow=tuple(rules), ports=frozenset(ports))
    pool = httpcore.AsyncConnectionPool(
        ssl_context=ssl_context or _public_authorities(),
        max_connections=100,
        max_keepalive_connections=20,
        keepalive_expiry=5.0,
        network_backend=GuardedBackend(policy, resolver=resolver),
    )
    transport = _GuardedTransport(pool, max_response_bytes=max_response_bytes)
    return _GuardedClient(transport, deadline_seconds=deadline_seconds)


@functools.cache
def _public_authorities() -> ssl.SSLContext:
    """Certifi's, whatever the environment says; loading them takes about 50 ms."""
    return httpx.create_ssl_context(trust_env=False)


async def _read(response: httpx.Response) -> None:
    """Read the body, and give the connection back whatever happens."""
    try:
        await response.aread()
    finally:
        await response.aclose()


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    default = {"http": 80, "https": 443}.get(url.scheme)
    return url.scheme, url.host, url.port or default


def _drop_secrets(request: httpx.Request) -> None:
    for name in set(request.headers) - _PORTABLE_HEADERS:
        del request.headers[name]


def _is_compressed(headers: httpx.Headers) -> bool:
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding in ("gzip", "x-gzip", "deflate"):
        return True
    if encoding in ("identity", ""):
        return False
    raise httpx.DecodingError(
        f"The answer is encoded as {encoding[:40]!r}, which was not asked for."
    )


def _declared_size(headers: httpx.Headers) -> int:
    text = headers.get("content-length", "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0


def _too_large(max_bytes: int) -> OutboundLimitError:
    return OutboundLimitError(f"The answer is larger than {max_bytes} bytes.")


def _too_late() -> OutboundLimitError:
    return OutboundLimitError("The request took longer than its total time limit.")


@contextmanager
def _httpx_errors(host: str = "the host") -> Iterator[None]:
    """Turn httpcore's errors into httpx's of the same name, which is what callers expect."""
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
