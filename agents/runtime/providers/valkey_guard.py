"""Local circuit breaker for Valkey, so that no call waits long for a failed server."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from redis.exceptions import RedisError

CALLS_AT_ONCE = 16  # the client has a limited number of connections
TIMEOUT_SECONDS = 1.0
LEAVE_ALONE_SECONDS = 5.0
WARN_SECONDS = 60.0


class ValkeyGuard:
    """Availability of Valkey, as one of its users has last observed it."""

    def __init__(
        self,
        logger: logging.Logger,
        consequence: str,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Assume that Valkey is available.

        Args:
            logger: Logger of a warning, at most once a minute, that Valkey is down.
            consequence: End of the warning's sentence: the consequence.
            clock: Monotonic clock in seconds, with any origin.
        """
        self._logger = logger
        self._consequence = consequence
        self._clock = clock
        self._away_until = 0.0
        self._warn_again = 0.0

    @property
    def is_open(self) -> bool:
        """True while calls to Valkey are suspended after a failure."""
        return self._clock() < self._away_until

    @asynccontextmanager
    async def attempt(self) -> AsyncIterator[bool]:
        """Yield True if Valkey may be called; its errors in the block suspend further calls.

        A block takes at most ``TIMEOUT_SECONDS``; errors of Valkey are not raised.
        """
        with self.attempt_blocking() as there:
            if not there:
                yield False
                return
            async with asyncio.timeout(TIMEOUT_SECONDS):
                yield True

    @contextmanager
    def attempt_blocking(self) -> Iterator[bool]:
        """Act as ``tried`` for a blocking client, whose own timeouts end the block."""
        if self.is_open:
            yield False
            return
        try:
            yield True
        except (RedisError, OSError) as error:  # OSError: TimeoutError is one
            self._lost(error)

    def _lost(self, error: Exception) -> None:
        now = self._clock()
        self._away_until = now + LEAVE_ALONE_SECONDS
        if now >= self._warn_again:
            self._warn_again = now + WARN_SECONDS
            self._logger.warning(
                "Valkey is down, so %s: %s", self._consequence, str(error) or type(error).__name__
            )
