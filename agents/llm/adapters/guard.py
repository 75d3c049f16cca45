"""Limits on an answer's byte stream: silence, total time and size."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from agents.llm.adapters.failures import broken
from agents.llm.adapters.posting import BROKEN
from agents.llm.errors import AnswerTooLargeError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from agents.llm.adapters.endpoint import Clock, Endpoint

# Wait for the end of the transfer after the final event, so that the connection can be reused; if
# the server does not end it, the connection is closed.
_SETTLE_SECONDS = 0.1


class GuardedStream:
    """Answer's bytes within limits; every failure is a ``ModelError``."""

    def __init__(
        self, chunks: AsyncIterator[bytes], clock: Clock, *, endpoint: Endpoint, max_bytes: int
    ) -> None:
        self._chunks = chunks
        self._clock = clock
        self._endpoint = endpoint
        self._max_bytes = max_bytes
        self._received = 0
        self._settle_by: float | None = None

    def settle(self) -> None:
        """Mark the answer as complete: a later delay or failure is not an error."""
        self._settle_by = asyncio.get_running_loop().time() + _SETTLE_SECONDS

    def __aiter__(self) -> Self:
        """Return the iterator over the chunks, usable once."""
        return self

    async def __anext__(self) -> bytes:
        """Wait for the next chunk.

        Raises:
            ModelTimeoutError: The server was silent too long, or the whole call's time is used up.
            StreamTruncatedError: The connection broke.
            AnswerTooLargeError: The answer exceeds ``max_bytes``.
        """
        chunk = await self._next()
        if chunk is None:
            raise StopAsyncIteration
        self._received += len(chunk)
        if self._received > self._max_bytes:
            raise AnswerTooLargeError(
                f"{self._endpoint.label} sent more than {self._max_bytes} bytes for one answer, "
                "which is the limit; ask for less or lower max_tokens."
            )
        return chunk

    async def _next(self) -> bytes | None:
        by = self._settle_by or self._clock.end_of_wait(begun=True)
        try:
            async with asyncio.timeout_at(by):
                return await anext(self._chunks)
        except StopAsyncIteration:
            return None
        except TimeoutError as error:
            if self._settle_by:
                return None
            raise self._clock.timeout(by, begun=True) from error
        except BROKEN as error:
            if self._settle_by:
                return None
            raise broken(self._endpoint, error, begun=True) from error
