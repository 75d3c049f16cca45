"""Mail servers: address, login, and every failure as one sentence.

As in ``heartbit_site.base.http.backend`` for HTTP, a server's name is resolved once, every address
must be allowed, and the socket is opened to one of those addresses.

Usage::

    check_lines(server, MailServerError)
    with sentences(server, MailServerError):
        route = find_server(server, SMTP_PORTS)
"""

from __future__ import annotations

import base64
import re
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Literal

from django.conf import settings

from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.http.allow import AddressPolicy, effective, parse_allow
from heartbit_site.base.http.errors import BlockedAddressError
from heartbit_site.base.visible_text import visible
from tools.mail.headers import one_line

IMAP_PORTS = frozenset({143, 993})
SMTP_PORTS = frozenset({25, 465, 587, 2525})


class MailServerError(HeartbitError):
    """The mail server cannot be used now; the mail itself may be valid."""


class MailboxError(MailServerError):
    """A mailbox cannot be read now, or its settings are wrong."""


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
                raise BlockedAddressError(f"The connection to {self.host} was redirected.")
            return opened
        raise failure


def find_route(host: str, port: int, ports: frozenset[int]) -> MailRoute:
    """Resolve and check a host.

    Args:
        host: Name of the host.
        port: Port of the connection.
        ports: Ports that are allowed on public addresses.

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


_MOST_SAID = 300
_NOT_IN_A_LINE = re.compile("[\r\n\x00\ud800-\udfff]")

Security = Literal["tls", "starttls", "none"]


@dataclass(frozen=True, slots=True)
class MailServer:
    """A mail server, with its login.

    Attributes:
        host: The server's name.
        port: Its port.
        security: ``none`` only for hosts that an operator named in ``HEARTBIT_HTTP_ALLOWLIST``.
        user: User name on the server.
        password: The password, or an app password if the server needs one.
    """

    host: str
    port: int
    security: Security
    user: str
    password: str = field(repr=False)


def check_lines(server: MailServer, error: type[MailServerError], name: str) -> None:
    """Refuse a text that could inject a protocol command.

    Args:
        server: The server.
        error: Class of the error.
        name: Display name of the server.

    Raises:
        MailServerError: A text has more than one line.
    """
    for each in fields(server):
        value = getattr(server, each.name)
        if isinstance(value, str) and _NOT_IN_A_LINE.search(value):
            raise error(f"The {name}'s {each.name} must be one line of text.")


def find_server(server: MailServer, ports: frozenset[int]) -> MailRoute:
    """Resolve and check a server.

    Args:
        server: The server.
        ports: Ports for this kind of server.

    Raises:
        MailServerError: The login would be sent unencrypted.
        BlockedAddressError: The host is not on the public internet, or the port is not open.
        OSError: The name cannot be resolved.
    """
    route = find_route(server.host, server.port, ports)
    if server.security == "none" and not route.trusted:
        raise MailServerError(
            f"Without TLS, the password for {server.host} can be read on the network: use tls or "
            "starttls, or let an operator add the host to HEARTBIT_HTTP_ALLOWLIST."
        )
    return route


@contextmanager
def sentences(server: MailServer, error: type[MailServerError]) -> Iterator[None]:
    """Convert every failure to one sentence without the password, and without a cause.

    A cause would keep the server's message, which may repeat the password.

    Raises:
        MailServerError: Of the class ``error``.
    """
    where = f"The mail server {server.host}"
    try:
        yield
    except (BlockedAddressError, MailServerError) as refusal:
        raise error(str(refusal)) from None
    except TimeoutError:
        raise error(f"{where} took too long to answer.") from None
    except ssl.SSLError as trouble:
        raise error(
            f"{where} failed the TLS handshake: {server_words(_tls_trouble(trouble), server)}"
        ) from None
    except OSError as trouble:
        why = trouble.strerror or str(trouble) or type(trouble).__name__
        raise error(f"{where} cannot be reached: {server_words(why, server)}") from None


def server_words(text: str, server: MailServer) -> str:
    """Return the server's message as one sentence, unless it repeats the password."""
    password = server.password.encode()
    plain = f"\0{server.user}\0{server.password}".encode()
    forms = {server.password, password.decode("ascii", "replace"), repr(password)[2:-1]}
    forms |= {base64.b64encode(secret).decode() for secret in (password, plain)}
    if server.password and any(_bare(form) in _bare(text) for form in forms):
        return "its message is not shown, because it contains the password."
    line = visible(one_line(text, _MOST_SAID))
    return line if line.endswith((".", "!", "?")) else f"{line}."


def _tls_trouble(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not valid: {error.verify_message}"
    if error.reason in {"WRONG_VERSION_NUMBER", "HTTP_REQUEST"}:
        return "it does not use TLS at this port: use starttls, or another port"
    return (error.reason or str(error)).replace("_", " ").lower()


def _bare(text: str) -> str:
    """Remove the backslashes that quoting, or imaplib, adds."""
    return text.replace("\\", "")
