"""Connections to mail servers, only at checked addresses.

As in ``heartbit_site.base.http.backend`` for HTTP: the name is resolved once, every address must be
allowed, and the socket is opened to one of those addresses.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings

from heartbit_site.base.http.addresses import effective
from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.errors import BlockedAddressError
from heartbit_site.base.http.policy import AddressPolicy

IMAP_PORTS = frozenset({143, 993})
SMTP_PORTS = frozenset({25, 465, 587, 2525})


@dataclass(frozen=True, slots=True)
class MailRoute:
    """Checked addresses of a host.

    Attributes:
        host: Its name, which its certificate must match.
        port: Its port.
        addresses: All its checked addresses, in the system's order of preference.
        trusted: True if an operator allowed it, or it is this machine.
    """

    host: str
    port: int
    addresses: tuple[str, ...]
    trusted: bool

    def connect(self, seconds: Callable[[], float]) -> socket.socket:
        """Return a connection to the first address that accepts one.

        Args:
            seconds: Function that returns the timeout of the next attempt.

        Raises:
            OSError: No address accepts a connection.
            BlockedAddressError: The connection ended at another address.
        """
        failure = OSError("it has no address")
        for address in self.addresses:
            try:
                opened = socket.create_connection((address, self.port), seconds())
            except OSError as error:
                failure = error
                continue
            if effective(str(opened.getpeername()[0])) != effective(address):
                opened.close()
                raise BlockedAddressError(f"The connection to {self.host} ended elsewhere.")
            return opened
        raise failure


def find_route(host: str, port: int, ports: frozenset[int]) -> MailRoute:
    """Resolve and check a host.

    Args:
        host: Name of the host.
        port: Port of the connection.
        ports: Ports that are open on public addresses.

    Raises:
        BlockedAddressError: The host is not on the public internet, or the port is not open.
        OSError: The name cannot be resolved.
    """
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except ValueError as error:  # not a name, by IDNA or for a NUL
        raise OSError(f"its name cannot be resolved ({error})") from None
    addresses = tuple(dict.fromkeys(str(answer[4][0]) for answer in answers))
    rules = parse_allow(settings.HEARTBIT_HTTP_ALLOWLIST)
    AddressPolicy(allow=rules, ports=ports).check(host, port, addresses)
    trusted = all(
        effective(text).is_loopback
        or any(rule.permits(host, effective(text), port) for rule in rules)
        for text in addresses
    )
    return MailRoute(host, port, addresses, trusted)
