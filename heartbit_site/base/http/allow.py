"""The operator's allow-list: its syntax, and the hosts and networks that a rule permits."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Literal

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.http.addresses import Address

_ALLOW_ENTRY = re.compile(
    r"(?P<bracketed>\[[^\]\s]+\])?(?P<plain>[^\[\]:\s]+)?(?::(?P<port>\d{1,5}|\*))?"
)
_APART = re.compile(r"[\s,]+")
_NUMBERS = re.compile(r"[\d.]+")
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_.-]{0,251}[a-z0-9_])?")


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
        """Return True if the rule names the host or contains the address, and covers the port."""
        if isinstance(self.target, str):
            matches = host.lower().rstrip(".") == self.target
        else:
            matches = address in self.target
        return matches and self.port in (None, "*", port)


def parse_allow(text: str) -> tuple[AllowRule, ...]:
    """Return the rules of an allow-list: entries separated by commas or white space.

    An entry is a host name, an address or a network, with an optional port (``*`` for every
    port): ``wiki.internal:8080``, ``10.1.0.0/16``, ``127.0.0.1/32:*``, ``[fd00::/8]:443``.

    Raises:
        ConfigurationError: An entry cannot be parsed.
    """
    return tuple(_allow_rule(entry) for entry in _APART.split(text) if entry)


def _allow_rule(entry: str) -> AllowRule:
    match = _ALLOW_ENTRY.fullmatch(entry)
    if match is None or (match["bracketed"] is None) == (match["plain"] is None):
        raise ConfigurationError(
            f"HEARTBIT_HTTP_ALLOWLIST: {entry!r} is not host[:port] or network[:port]; "
            "write it without a scheme, and IPv6 in brackets, for example [fd00::/8]:443."
        )
    port: int | Literal["*"] | None = None
    if match["port"] is not None:
        port = "*" if match["port"] == "*" else int(match["port"])
    if isinstance(port, int) and not 1 <= port <= 65_535:
        raise ConfigurationError(f"HEARTBIT_HTTP_ALLOWLIST: {entry!r} has no port from 1 to 65535.")
    return AllowRule(_allow_target(match["plain"] or match["bracketed"][1:-1], entry), port)


def _allow_target(text: str, entry: str) -> str | IPv4Network | IPv6Network:
    try:
        return ip_network(text)
    except ValueError as error:
        host = text.lower().rstrip(".")
        # Digits and slashes only look like a network: a typo there must not become a host name.
        if "/" in host or _NUMBERS.fullmatch(host) or not _HOST.fullmatch(host):
            raise ConfigurationError(f"HEARTBIT_HTTP_ALLOWLIST: {entry!r}: {error}.") from None
        return host
