"""Clients of the web process: an address or an IPv6 network, of which each may have a share."""

from __future__ import annotations

import functools
from ipaddress import ip_address, ip_network
from typing import Final

from django.conf import settings

from heartbit_site.api.rate_limit import bucket_key

#: One client may have a connection in so many, and a byte in so many of the bodies held in memory.
CLIENT_SHARE: Final = 4
_REMEMBERED: Final = 16_384

#: Takes an address and returns the name under which everything that comes from it is counted.
client_at: Final = functools.lru_cache(_REMEMBERED)(bucket_key)


@functools.lru_cache(_REMEMBERED)
def is_proxy(address: str) -> bool:
    """Return True for a trusted proxy, which brings the requests of many."""
    try:
        found = ip_address(address)
    except ValueError:  # a forwarded name is none
        return False
    networks = map(ip_network, settings.HEARTBIT_TRUSTED_PROXIES)
    return any(found.version == one.version and found in one for one in networks)
