"""Cache of known key prefixes: rejects most unknown keys without a query."""

from __future__ import annotations

import functools
import time

from heartbit_site.base.actions.api_keys import prefix_of
from heartbit_site.base.models import ApiKey

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
