"""The way to a mail server: to an address that was checked, and to no other.

As ``heartbit_site.base.http.backend`` does it for HTTP: the name is resolved once, every answer has
to be open to Heartbit, and the socket is opened to one of those very addresses.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.conf import settings

from heartbit_site.base.http import AddressPolicy, BlockedAddressError, parse_allow
from heartbit_site.base.http.addresses import effective

if TYPE_CHECKING:
    from collections.abc import Callable

IMAP_PORTS = frozenset({143, 993})


@dataclass(frozen=True, slots=True)
class MailRoute:
    """Where a host may be reached.

    Attributes:
        host: Its name, which its certificate has to bear.
        port: Where it listens.
        addresses: All of its checked addresses, as the system prefers them.
        trusted: An operator named it, or it is this machine.
    """

    host: str
    port: int
    addresses: tuple[str, ...]
    trusted: bool

    def connect(self, seconds: Callable[[], float]) -> socket.socket:
        """A connection to the first address that takes one.

        Args:
            seconds: How long the next of them may be tried.

        Raises:
            OSError: None does.
            BlockedAddressError: Something led the connection elsewhere.
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


def find_route(host: str, port: int) -> MailRoute:
    """The way to a host.

    Raises:
        BlockedAddressError: It is not on the public internet, or the port is not for mail.
        OSError: Its name leads nowhere.
        ValueError: It is no name.
    """
    answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = tuple(dict.fromkeys(str(answer[4][0]) for answer in answers))
    rules = parse_allow(settings.HEARTBIT_HTTP_ALLOWLIST)
    AddressPolicy(allow=rules, ports=IMAP_PORTS).check(host, port, addresses)
    trusted = all(
        effective(text).is_loopback
        or any(rule.permits(host, effective(text), port) for rule in rules)
        for text in addresses
    )
    return MailRoute(host, port, addresses, trusted)
