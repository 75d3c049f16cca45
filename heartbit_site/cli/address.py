"""Addresses that processes listen on: as options name them, and as they are reached."""

from __future__ import annotations

from typing import Final

from heartbit_site.cli.errors import USAGE, CommandError

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
        raise CommandError(
            f"--bind {text!r} is no address with a port: write it like 127.0.0.1:8001 or "
            "[::1]:8001.",
            USAGE,
        )
    return host, int(port)
