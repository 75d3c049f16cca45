"""Rate limits of a provider account: requests and tokens a minute, and pauses after HTTP 429.

The state belongs to a ``Limiter``: ``LocalLimiter`` for one process, or the fleet's in
``agents.runtime.providers.limiter``.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from agents.llm.errors import ModelError, RateLimitedError, ThrottledError
from agents.llm.messages import ChatRequest, Completion, StreamEvent
from agents.llm.protocol import ChatModel
from agents.llm.wrappers.bucket import Bucket
from agents.llm.wrappers.closing import closing
from agents.llm.wrappers.estimate import estimate_tokens
from heartbit_site.base.errors import ConfigurationError

LONGEST_PAUSE_SECONDS = 3600.0  # upper limit of a pause that a provider requests
_PAUSE_SECONDS = 1.0  # after a 429 without a time


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of an account; None: unlimited."""

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None

    def __post_init__(self) -> None:
        for limit in (self.requests_per_minute, self.tokens_per_minute):
            if limit is not None and limit < 1:
                raise ConfigurationError(
                    f"An account's limit is {limit} a minute; set at least 1, or leave it empty "
                    "for no limit."
                )

    @property
    def requests(self) -> Bucket | None:
        """Bucket of requests that holds the requests of one second, and at least one.

        Providers state that they enforce 60 a minute as one a second.
        """
        if self.requests_per_minute is None:
            return None
        per_second = self.requests_per_minute / 60
        return Bucket(per_second, max(1.0, per_second))

    @property
    def tokens(self) -> Bucket | None:
        """Bucket of tokens that holds the tokens of one minute, as at the providers."""
        if self.tokens_per_minute is None:
            return None
        return Bucket(self.tokens_per_minute / 60, self.tokens_per_minute)


class Limiter(Protocol):
    """Remaining limits of provider accounts, shared by all users of an account.

    An account without limits is only checked for a pause.
    """

    async def reserve(self, account: str, limits: Limits, tokens: int, *, max_wait: float) -> float:
        """Reserve one request and ``tokens``.

        Returns:
            Seconds until the call may be sent. Up to ``max_wait``: reserved, and the caller sleeps
            that long. More: nothing is reserved, and the caller tries again after that time.
        """
        ...

    async def settle(self, account: str, limits: Limits, *, reserved: int, used: int) -> None:
        """Replace a reservation's tokens by those actually used."""
        ...

    async def pause(self, account: str, seconds: float) -> None:
        """Refuse all calls for ``seconds``; a longer pause is kept."""
        ...


@dataclass(slots=True)
class _Account:
    requests_due: float = 0.0
    tokens_due: float = 0.0
    paused_until: float = 0.0


class LocalLimiter:
    """A ``Limiter`` for one process and loop."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Take a clock of seconds with any origin."""
        self._clock = clock
        self._accounts: dict[str, _Account] = {}

    async def reserve(self, account: str, limits: Limits, tokens: int, *, max_wait: float) -> float:
        """See ``Limiter.reserve``."""
        now = self._clock()
        state = self._state(account)
        begin = max(now, state.paused_until)
        requests_due, tokens_due = state.requests_due, state.tokens_due
        start = begin
        if limits.requests is not None:
            requests_due, at = limits.requests.take(requests_due, begin, 1)
            start = max(start, at)
        if limits.tokens is not None:
            tokens_due, at = limits.tokens.take(tokens_due, begin, tokens)
            start = max(start, at)
        if start - now <= max_wait:
            state.requests_due, state.tokens_due = requests_due, tokens_due
        return start - now

    async def settle(self, account: str, limits: Limits, *, reserved: int, used: int) -> None:
        """See ``Limiter.settle``."""
        if limits.tokens is not None:
            state = self._state(account)
            due = max(state.tokens_due, self._clock()) if used > reserved else state.tokens_due
            state.tokens_due = due + (used - reserved) / limits.tokens.per_second

    async def pause(self, account: str, seconds: float) -> None:
        """See ``Limiter.pause``."""
        state = self._state(account)
        state.paused_until = max(state.paused_until, self._clock() + seconds)

    def _state(self, account: str) -> _Account:
        return self._accounts.setdefault(account, _Account())


@dataclass(frozen=True, slots=True)
class LimitedModel:
    """A ``ChatModel`` that reserves from a limiter before each call.

    It waits at most ``hold_seconds``; beyond that it raises ``ThrottledError``, so that no slot is
    held for long. A 429 pauses the account for all users. A call that is cancelled or breaks off in
    the middle keeps its reservation, because its usage is unknown.

    Attributes:
        account: Name of the account, for example ``openai:`` and the key's name.
    """

    model: ChatModel
    limiter: Limiter
    account: str
    limits: Limits
    hold_seconds: float = field(default=10.0, kw_only=True)
    sleep: Callable[[float], Awaitable[object]] = field(default=asyncio.sleep, kw_only=True)

    @property
    def name(self) -> str:
        """``provider:model``, as journaled."""
        return self.model.name

    async def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        """See ``ChatModel.stream``.

        Raises:
            ThrottledError: The account is at its limit, or paused, beyond the maximum wait.
        """
        tokens = 0 if self.limits.tokens_per_minute is None else estimate_tokens(request)
        waited = await self._wait(tokens, at_most=min(self.hold_seconds, request.timeout_seconds))
        rest = replace(request, timeout_seconds=request.timeout_seconds - waited)
        streamed = False
        try:
            async with closing(self.model.stream(rest)) as events:
                async for event in events:
                    streamed = True
                    if isinstance(event, Completion):
                        used = event.usage.input_tokens + event.usage.output_tokens
                        await self._settle(tokens, used=used or tokens)  # 0: not reported
                    yield event
        except ModelError as error:
            if isinstance(error, RateLimitedError):
                wanted = error.retry_after or _PAUSE_SECONDS
                await self.limiter.pause(self.account, min(wanted, LONGEST_PAUSE_SECONDS))
            if not streamed:
                await self._settle(tokens, used=0)
            raise

    async def _wait(self, tokens: int, *, at_most: float) -> float:
        wait = await self.limiter.reserve(self.account, self.limits, tokens, max_wait=at_most)
        if wait > at_most:
            raise ThrottledError(
                f"The account {self.account} of {self.name} is at its limit or paused for "
                f"{wait:.1f} seconds; the call waits until then, or raise the account's limits.",
                retry_after=wait,
            )
        if wait > 0:
            await self.sleep(wait)
        return wait

    async def _settle(self, reserved: int, *, used: int) -> None:
        allowed = self.limits.tokens_per_minute
        if allowed is None:
            return
        # No provider lets one call use more than a minute's worth: a larger figure is wrong, and
        # would block the account for days.
        used = min(used, max(reserved, allowed))
        if reserved != used:
            await self.limiter.settle(self.account, self.limits, reserved=reserved, used=used)
