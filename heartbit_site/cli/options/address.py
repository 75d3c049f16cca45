"""Addresses that processes listen on: as options name them, and as they are reached."""

from __future__ import annotations

import socket
from typing import Final

from heartbit_site.cli.terminal.errors import CANNOT_START, CommandError, UsageError

LAST_PORT: Final = 65535
#: Addresses that mean all interfaces, and where to connect to instead.
_LOOPBACK: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  compared, not bound


def reachable_host(bind: str) -> str:
    """Return the host at which this machine reaches what listens on ``bind``."""
    return _LOOPBACK.get(bind, bind)


def parse_address(text: str) -> tuple[str, int]:
    """Return host and port of `HOST:PORT`; an IPv6 host stands in brackets.

    Raises:
        CommandError: It is no address and port.
    """
    host, colon, port = text.rpartition(":")
    is_bracketed = host.startswith("[") and host.endswith("]")
    if is_bracketed:
        host = host[1:-1]
    is_port = port.isascii() and port.isdigit() and int(port) <= LAST_PORT
    if not (colon and host and is_port) or (":" in host and not is_bracketed):
        raise UsageError(
            f"--bind {text!r} is no address with a port: write it like 127.0.0.1:8001 or "
            "[::1]:8001."
        )
    return host, int(port)


def page_url(bind: str, port: int) -> str:
    """Return where a browser on this machine finds a page that listens there."""
    host = reachable_host(bind)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def check_port(bind: str, port: int, options: str = "--port or --bind") -> None:
    """Refuse an address that the web process could not listen on, before anything starts.

    Raises:
        CommandError: It is taken, forbidden, or not of this machine.
    """
    try:
        found = socket.getaddrinfo(bind, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise CommandError(
            f"Cannot listen on {bind} port {port} ({error.strerror or error}): choose another with "
            f"{options}, or end what uses it.",
            CANNOT_START,
        ) from error
