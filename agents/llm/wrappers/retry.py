"""Retry of a model after transient errors: backoff with full jitter, Retry-After."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace

from agents.llm.errors import ModelError, ThrottledError
from agents.llm.messages import ChatRequest, Restarted, StreamEvent
from agents.llm.protocol import ChatModel
from agents.llm.wrappers.closing import closing

_LATEST = 1.1  # factor of a server's wait, so that clients do not return at the same time


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Number and delays of retries.

    Attributes:
        max_retries: Attempts after the first.
        base_delay_ms: Longest wait before the first retry; doubled with each retry.
        hold_seconds: Longest wait in this wrapper. If a server requests a longer wait, the error is
            raised, so that the run can be suspended until then.
    """

    max_retries: int = 3
    base_delay_ms: int = 500
    max_delay_ms: int = 30_000
    hold_seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class RetryingModel:
    """A ``ChatModel`` that retries after ``retryable`` errors.

    Every new attempt is announced with ``Restarted``, so retries are safe even after text was
    streamed. ``ChatRequest.timeout_seconds`` covers all attempts and waits. A refusal by Heartbit's
    own limiter does not count as an attempt: ``ThrottledError`` passes through.
    """

    model: ChatModel
    policy: RetryPolicy
    sleep: Callable[[float], Awaitable[object]] = field(default=asyncio.sleep, kw_only=True)
    uniform: Callable[[float, float], float] = field(default=random.uniform, kw_only=True)

    @property
    def name(self) -> str:
        """``provider:model``, as journaled."""
        return self.model.name

    async def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        """See ``ChatModel.stream``; raises the last attempt's error."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + request.timeout_seconds
        retries = request.attempts
        while True:
            attempt = replace(request, timeout_seconds=max(0.0, deadline - loop.time()))
            try:
                async with closing(self.model.stream(attempt)) as events:
                    async for event in events:
                        yield event
                return
            except ModelError as error:
                delay = self._delay(error, retries=retries)
                if delay is None or loop.time() + delay >= deadline:
                    raise
                reason = str(error)
            retries += 1
            yield Restarted(reason, delay)
            await self.sleep(delay)

    def _delay(self, error: ModelError, *, retries: int) -> float | None:
        """Return the seconds to wait before the next attempt; None if there is none."""
        policy = self.policy
        throttled = isinstance(error, ThrottledError)
        if throttled or not error.retryable or retries >= policy.max_retries:
            return None
        # A wait of 0, or a date in the past, counts as no wait: clocks differ.
        if error.retry_after:
            if error.retry_after > policy.hold_seconds:
                return None
            return self.uniform(error.retry_after, error.retry_after * _LATEST)
        longest = min(policy.max_delay_ms, policy.base_delay_ms * 2**retries) / 1000
        return self.uniform(0.0, min(longest, policy.hold_seconds))
