"""Clients of the web process, addresses or IPv6 networks, each with a share of its capacity."""

from __future__ import annotations

import functools
from ipaddress import ip_address, ip_network
from typing import Final

from django.conf import settings

from heartbit_site.api.rate_limit import bucket_key

#: One client may have a quarter of the connections, and of the bytes of bodies held in memory.
CLIENT_SHARE: Final = 4
_REMEMBERED: Final = 16_384

#: Maps an address to the key under which it is counted.
client_at: Final = functools.lru_cache(_REMEMBERED)(bucket_key)


@functools.lru_cache(_REMEMBERED)
def is_proxy(address: str) -> bool:
    """Return True for a trusted proxy, which forwards the requests of many clients."""
    try:
        found = ip_address(address)
    except ValueError:  # a forwarded name is not an address
        return False
    return any(found in ip_network(text) for text in settings.HEARTBIT_TRUSTED_PROXIES)
