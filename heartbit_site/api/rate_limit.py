"""Rate limit of callers: each has a token bucket, shared by all web processes.

The bucket fills by ``HEARTBIT_API_RATE_LIMIT`` a second and holds four seconds' worth. It costs one
round trip to Valkey; while Valkey is down, every request is accepted.
"""

from __future__ import annotations

import functools
import ipaddress
import logging
import math
import time

from django.conf import settings
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as LostError
from redis.retry import Retry

from agents.runtime.providers.limiter import RESERVE
from agents.runtime.providers.valkey_guard import ValkeyGuard
from heartbit_site.api.errors import TooManyRequestsError
from heartbit_site.base.actions.api_keys import prefix_of
from heartbit_site.base.models import ApiKey

logger = logging.getLogger(__name__)

BURST_SECONDS = 4.0
PATIENCE_SECONDS = 0.25
MOST_EMPTY = 10_000  # of which a process remembers that they are
NETWORK_BITS = 64  # of an IPv6 address: whoever has one has them all


class RateLimiter:
    """The buckets of all callers; safe between threads, and blocking.

    Args:
        url: Of Valkey.
        per_second: Average number of requests per caller; 0: unlimited.
    """

    def __init__(self, url: str, per_second: float) -> None:
        self._rate = per_second
        self._size = max(1.0, per_second * BURST_SECONDS)
        self._empty_until: dict[str, float] = {}
        self._guard = ValkeyGuard(logger, "requests to the API are not limited")
        client = Redis.from_url(
            url,
            decode_responses=True,
            socket_timeout=PATIENCE_SECONDS,
            socket_connect_timeout=PATIENCE_SECONDS,
            # A connection that Valkey has closed since is opened again at once.
            retry=Retry(NoBackoff(), 1, (LostError,)),
        )
        self._reserve = client.register_script(RESERVE)

    def take(self, who: str) -> None:
        """Take a request from a bucket.

        Raises:
            TooManyRequestsError: It is empty.
        """
        if self._rate <= 0:
            return
        wait = 0.0
        with self._guard.attempt_blocking() as there:
            if there:
                limits = (self._rate, self._size, 0, 0, 0, 0)
                wait = float(self._reserve(keys=[f"heartbit:api:{who}"], args=limits))
        if wait > 0:
            if len(self._empty_until) >= MOST_EMPTY:
                self._empty_until.clear()
            self._empty_until[who] = time.monotonic() + wait
            raise self._refusal(wait)

    def check(self, who: str) -> None:
        """Refuse a caller that ``take`` has just refused, without a round trip.

        Raises:
            TooManyRequestsError: The bucket is still empty.
        """
        left = self._empty_until.get(who, 0.0) - time.monotonic()
        if left > 0:
            raise self._refusal(left)

    def _refusal(self, wait: float) -> TooManyRequestsError:
        seconds = math.ceil(wait)
        return TooManyRequestsError(
            f"You send more than {self._rate:g} requests per second: try again in {seconds} s.",
            seconds,
        )


def bucket_key(address: str) -> str:
    """Return the bucket of an address, or of a customer's network."""
    found = customer(address)
    return f"address:{address if found is None else found}"


def customer(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Network | None:
    """Return the address, or the network that one customer has; None: it is no IP address."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:  # of a socket in the file system
        return None
    if isinstance(found, ipaddress.IPv4Address):
        return found
    if found.ipv4_mapped is not None:
        return found.ipv4_mapped
    return ipaddress.IPv6Network((int(found), NETWORK_BITS), strict=False)


@functools.cache
def rate_limiter() -> RateLimiter:
    """Return the process's rate limiter."""
    return RateLimiter(settings.REDIS_URL, settings.HEARTBIT_API_RATE_LIMIT)


FRESH_SECONDS = 5.0


class KeyPrefixCache:
    """The public parts of all keys, a moment old; safe between threads.

    Args:
        seconds: Maximum time for which a new key is not known yet.
    """

    def __init__(self, seconds: float = FRESH_SECONDS) -> None:
        self._seconds = seconds
        self._known: frozenset[str] = frozenset()
        self._until = 0.0

    def may_open(self, key: str) -> bool:
        """Return True if a key begins like this one."""
        prefix = prefix_of(key)
        if prefix is None or prefix in self._known:
            return prefix is not None
        now = time.monotonic()
        if now >= self._until:
            self._known = frozenset(ApiKey.objects.order_by().values_list("prefix", flat=True))
            self._until = now + self._seconds
        return prefix in self._known


@functools.cache
def prefixes() -> KeyPrefixCache:
    """Return the process's cache."""
    return KeyPrefixCache()
