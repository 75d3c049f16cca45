"""The guarded HTTP client: the only way out for a request that a model can steer.

Usage::

    async with guarded_client(allow=parse_allow("wiki.internal:8080, 10.1.0.0/16:443")) as http:
        response = await http.get(url)  # BlockedAddressError, OutboundLimitError or httpx.HTTPError

``backend`` explains the place of the check.
"""

from __future__ import annotations

from heartbit_site.base.http.addresses import Address, is_public
from heartbit_site.base.http.allow import AllowRule, parse_allow
from heartbit_site.base.http.backend import GuardedBackend, Resolver, system_resolver
from heartbit_site.base.http.client import (
    DEADLINE_SECONDS,
    MAX_REDIRECTS,
    MAX_RESPONSE_BYTES,
    guarded_client,
    guarded_model_client,
)
from heartbit_site.base.http.errors import BlockedAddressError, InvalidURLError, OutboundLimitError
from heartbit_site.base.http.policy import DEFAULT_PORTS, AddressPolicy

__all__ = [
    "DEADLINE_SECONDS",
    "DEFAULT_PORTS",
    "MAX_REDIRECTS",
    "MAX_RESPONSE_BYTES",
    "Address",
    "AddressPolicy",
    "AllowRule",
    "BlockedAddressError",
    "GuardedBackend",
    "InvalidURLError",
    "OutboundLimitError",
    "Resolver",
    "guarded_client",
    "guarded_model_client",
    "is_public",
    "parse_allow",
    "system_resolver",
]
