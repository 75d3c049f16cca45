"""The network backend, which opens connections and therefore checks their addresses.

The check sits in an ``httpcore.AsyncNetworkBackend``, given to an ``httpcore.AsyncConnectionPool``
under an ``httpx.AsyncBaseTransport`` of Heartbit's own. All three are public extension points of
the pinned versions (httpcore 1.0, httpx 0.28); httpx's own ``AsyncHTTPTransport`` has no parameter
for the backend, and checking a URL before the request leaves the gap that DNS rebinding uses. Every
TCP connect passes ``GuardedBackend.connect_tcp`` (first hop, redirect, reopened pool): it resolves
the name once, requires every address to be public, and connects to one of exactly these addresses;
TLS still names and verifies the host of the URL.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence

import httpcore

from heartbit_site.base.http.allow import AddressPolicy, effective
from heartbit_site.base.http.errors import BlockedAddressError

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]


async def system_resolver(host: str, port: int) -> Sequence[str]:
    """Return every address of a host, in the order of preference of the operating system."""
    answers = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(answer[4][0]) for answer in answers))


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """A backend that opens TCP connections to checked addresses, and no other connections.

    Args:
        policy: Permitted addresses and ports.
        resolver: Resolves a host to addresses; called exactly once per connect.
        inner: The backend that opens the socket; it only ever gets literal addresses.
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
        """Refuse: a unix socket always belongs to a service of this machine."""
        raise BlockedAddressError(f"Unix sockets are closed to tools: {path}.")

    async def sleep(self, seconds: float) -> None:
        """Wait; the pool would use it between its own retries, which are off."""
        await self._inner.sleep(seconds)

    async def _addresses(self, host: str, port: int, timeout: float | None) -> Sequence[str]:
        try:
            async with asyncio.timeout(timeout):
                return await self._resolver(host, port)
        except TimeoutError:
            raise httpcore.ConnectTimeout("resolving its name took too long") from None
        except (OSError, ValueError) as error:  # ValueError: not a name, by IDNA or for a NUL
            raise httpcore.ConnectError(f"its name cannot be resolved ({error})") from None


async def _check_peer(stream: httpcore.AsyncNetworkStream, host: str, address: str) -> None:
    """Refuse a connection whose other end is not the address that was checked."""
    peer = stream.get_extra_info("server_addr")
    if peer is None or effective(str(peer[0])) != effective(address):
        await stream.aclose()
        raise BlockedAddressError(f"The connection to {host} ended at another address.")
