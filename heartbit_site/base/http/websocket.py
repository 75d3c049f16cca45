"""WebSocket connections to URLs that a remote party names; addresses are checked as of requests."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from websockets.sync.client import ClientConnection, connect

from heartbit_site.base.http.allow import AddressPolicy, AllowRule
from heartbit_site.base.http.client import public_authorities
from heartbit_site.base.http.errors import InvalidURLError

_OPEN_SECONDS = 10.0
_MOST_BYTES = 1_000_000
_PORTS = {"ws": 80, "wss": 443}


@contextmanager
def open_websocket(url: str, *, allow: Iterable[AllowRule] = ()) -> Iterator[ClientConnection]:
    """Open a connection without proxies and redirects; it answers and sends pings by itself.

    Args:
        url: The URL. Port 443 is open, others only if the allow-list names them; so ``ws`` is.
        allow: As for ``GuardedClient``.

    Raises:
        BlockedAddressError: The URL cannot be read, or leads to an address that is closed.
        OSError: The host cannot be reached.
        websockets.exceptions.WebSocketException: The handshake fails.
        ValueError: The server redirects.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError):
        host, port = None, 0
    if not host:
        raise InvalidURLError("The URL of the connection cannot be read: it is no wss URL.")
    rules = tuple(allow)
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(answer[4][0]) for answer in found))
    AddressPolicy(allow=rules, ports=frozenset({443})).check(host, port, addresses)
    with connect(
        url,
        sock=_connected(addresses, port),
        ssl=public_authorities() if parts.scheme == "wss" else None,
        server_hostname=host if parts.scheme == "wss" else None,
        proxy=None,
        open_timeout=_OPEN_SECONDS,
        max_size=_MOST_BYTES,
        user_agent_header=None,
    ) as connection:
        yield connection


def _connected(addresses: Iterable[str], port: int) -> socket.socket:
    failure: OSError = OSError("The host has no address.")
    for address in addresses:
        try:
            found = socket.create_connection((address, port), timeout=_OPEN_SECONDS)
        except OSError as error:
            failure = error
            continue
        found.settimeout(None)
        return found
    raise failure
