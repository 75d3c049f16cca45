"""Limits on an answer's byte stream: silence, total time and size."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from agents.llm.adapters.posting import BROKEN
from agents.llm.errors import AnswerTooLargeError, ModelTimeoutError, StreamTruncatedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

# Wait for the end of the transfer after the final event, so that the connection can be reused; if
# the server does not end it, the connection is closed.
_SETTLE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one answer.

    Attributes:
        deadline: End of the whole call, in the event loop's time.
        whole_seconds: Time limit of the whole call, for the error message.
    """

    deadline: float
    whole_seconds: float
    idle_seconds: float
    max_bytes: int


class GuardedStream:
    """Answer's bytes within limits; every failure is a ``ModelError``."""

    def __init__(self, chunks: AsyncIterator[bytes], *, label: str, limits: Limits) -> None:
        self._chunks = chunks
        self._label = label
        self._limits = limits
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
        if self._received > self._limits.max_bytes:
            raise AnswerTooLargeError(
                f"{self._label} sent more than {self._limits.max_bytes} bytes for one answer, "
                "which is the limit; ask for less or lower max_tokens."
            )
        return chunk

    async def _next(self) -> bytes | None:
        now = asyncio.get_running_loop().time()
        by = self._settle_by or min(self._limits.deadline, now + self._limits.idle_seconds)
        try:
            async with asyncio.timeout_at(by):
                return await anext(self._chunks)
        except StopAsyncIteration:
            return None
        except TimeoutError as error:
            if self._settle_by:
                return None
            raise self._timeout(late=by >= self._limits.deadline) from error
        except BROKEN as error:
            if self._settle_by:
                return None
            raise StreamTruncatedError(
                f"{self._label} broke the connection in the middle of its answer; try again."
            ) from error

    def _timeout(self, *, late: bool) -> ModelTimeoutError:
        if late:
            return ModelTimeoutError(
                f"{self._label} was not done within {self._limits.whole_seconds:g} seconds; raise "
                "the call's time limit or ask for less."
            )
        return ModelTimeoutError(
            f"{self._label} fell silent for {self._limits.idle_seconds:g} seconds in the middle of "
            "its answer; try again."
        )
