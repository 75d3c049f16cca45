"""Ask Valkey without ever waiting for it long: while it is away it is left alone."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from redis.exceptions import RedisError

if TYPE_CHECKING:
    import logging
    from collections.abc import AsyncIterator, Callable, Iterator

CALLS_AT_ONCE = 16  # the client has a limited number of connections
TIMEOUT_SECONDS = 1.0
LEAVE_ALONE_SECONDS = 5.0
WARN_SECONDS = 60.0


class ValkeyGuard:
    """Whether Valkey answers, as one of its users has last seen it."""

    def __init__(
        self,
        logger: logging.Logger,
        consequence: str,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing is asked yet.

        Args:
            logger: Is told that Valkey is away, at most once a minute.
            consequence: What follows from it, the end of that sentence.
            clock: The process's own time in seconds, from any beginning.
        """
        self._logger = logger
        self._consequence = consequence
        self._clock = clock
        self._away_until = 0.0
        self._warn_again = 0.0

    @property
    def is_open(self) -> bool:
        """Whether it is left alone now."""
        return self._clock() < self._away_until

    @asynccontextmanager
    async def attempt(self) -> AsyncIterator[bool]:
        """Whether Valkey is worth a try; what goes wrong in the block says that it is away.

        A block takes at most ``TIMEOUT_SECONDS``; no error of Valkey's leaves it.
        """
        with self.attempt_blocking() as there:
            if not there:
                yield False
                return
            async with asyncio.timeout(TIMEOUT_SECONDS):
                yield True

    @contextmanager
    def attempt_blocking(self) -> Iterator[bool]:
        """The same for a client that blocks, whose own timeouts end the block."""
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
                "Valkey is away, so %s: %s", self._consequence, str(error) or type(error).__name__
            )
