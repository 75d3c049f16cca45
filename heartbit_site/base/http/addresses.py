"""Addresses of the public internet.

The lists are Heartbit's own, because ``ipaddress.is_global`` changes between Python patch releases
and lets NAT64, 6to4 and multicast through (measured; ``tests/base/test_http_guard.py``).
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

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
