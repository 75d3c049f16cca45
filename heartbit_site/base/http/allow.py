"""Permitted targets of a connection: addresses of the public internet, and the allow-list.

The lists are Heartbit's own, because ``ipaddress.is_global`` changes between Python patch releases
and lets NAT64, 6to4 and multicast through (measured; ``tests/base/test_http_guard.py``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Literal

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.http.errors import BlockedAddressError

Address = IPv4Address | IPv6Address

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


def is_public(address: Address) -> bool:
    """Return True if an address is globally routable unicast, by the lists of this module."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _DENIED_4)
    return address in _GLOBAL_6 and not any(address in network for network in _DENIED_6)


def effective(text: str) -> Address:
    """Return a packet's real destination: IPv4 inside mapped and NAT64 addresses is unwrapped.

    Compatible (``::a.b.c.d``), 6to4 and Teredo addresses are denied as the IPv6 they are.
    """
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


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


DEFAULT_PORTS = frozenset({80, 443})


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """Addresses and ports that a connection may use."""

    allow: tuple[AllowRule, ...] = ()
    ports: frozenset[int] = DEFAULT_PORTS

    def check(self, host: str, port: int, addresses: Sequence[str]) -> None:
        """Refuse the host unless every address is public, or allowed by a rule, at this port.

        One bad address refuses the host, so that the choice between addresses cannot matter.

        Raises:
            BlockedAddressError: The message names no address: a model should not learn the
                addresses of internal names.
        """
        if not addresses:
            raise BlockedAddressError(f"The host {host} has no address.")
        for text in addresses:
            self._check_one(host, port, effective(text))

    def _check_one(self, host: str, port: int, address: Address) -> None:
        rules = [rule for rule in self.allow if rule.permits(host, address, port)]
        if any(rule.port is not None for rule in rules):
            return
        if port not in self.ports:
            ports = ", ".join(str(number) for number in sorted(self.ports))
            raise BlockedAddressError(
                f"Port {port} of {host} is closed to tools (open: {ports}); an operator can add "
                f"'{host}:{port}' to HEARTBIT_HTTP_ALLOWLIST."
            )
        if not rules and not is_public(address):
            raise BlockedAddressError(
                f"The host {host} is not on the public internet, so tools may not reach it; an "
                "operator can add it to HEARTBIT_HTTP_ALLOWLIST."
            )
