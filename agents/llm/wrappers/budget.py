"""Budget limit: reserve before a call, release once its usage is journaled.

The state belongs to an ``Allowance``, one a run; the runtime's is in
``agents.runtime.providers.budgets``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Protocol

from agents.llm.messages import ChatRequest, Completion, StreamEvent, Usage
from agents.llm.protocol import ChatModel
from agents.llm.wrappers.closing import closing
from agents.llm.wrappers.estimate import estimate_tokens

USEFUL_TOKENS = 256  # a shorter answer is useless


@dataclass(frozen=True, slots=True)
class Amount:
    """Tokens and US dollars."""

    tokens: int = 0
    usd: Decimal = Decimal(0)

    def covers(self, other: Amount) -> bool:
        """Return True if both figures are at least those of the other amount."""
        return self.tokens >= other.tokens and self.usd >= other.usd

    def at_most(self, other: Amount) -> Amount:
        """Return the lesser of each figure."""
        return Amount(min(self.tokens, other.tokens), min(self.usd, other.usd))


class Allowance(Protocol):
    """Amount that one run may still spend; the run makes one model call at a time."""

    def is_known_unlimited(self) -> bool:
        """Return True if it is known without a query that no budget applies."""
        ...

    async def has_budget(self) -> bool:
        """Return True if a budget applies; the answer may be some seconds old."""
        ...

    async def reserve(self, least: Amount, most: Amount) -> Amount:
        """Reserve as much as is left between both amounts.

        Raises:
            BudgetSpentError: Less than ``least`` is left.
            ThrottledError: Others have reserved the amount left, which may become free.
        """
        ...

    async def keep(self) -> None:
        """Renew the reservation until cancelled; without this it expires."""
        ...

    def release(self) -> None:
        """Drop the reservation: the amount was spent and booked, or will not be spent."""
        ...


@dataclass(frozen=True, slots=True)
class BudgetedModel:
    """A ``ChatModel`` that reserves from an allowance before each call.

    The answer's limit is lowered if less is left, but not below a useful length. After an answer
    the reservation stays until the journal's writer calls ``release``.

    Attributes:
        cost: Price of usage, as from ``agents.llm.pricing``; None: unknown.
    """

    model: ChatModel
    allowance: Allowance
    cost: Callable[[str, Usage], Decimal | None]

    @property
    def name(self) -> str:
        """``provider:model``, as journaled."""
        return self.model.name

    def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        """See ``ChatModel.stream``; without budgets it is passed through.

        Raises:
            BudgetSpentError: A budget has too little left.
            ThrottledError: Calls in flight have reserved the amount left.
        """
        return (
            self.model.stream(request)
            if self.allowance.is_known_unlimited()
            else self._stream(request)
        )

    async def _stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        if not await self.allowance.has_budget():
            async with closing(self.model.stream(request)) as events:
                async for event in events:
                    yield event
            return
        allowed = replace(request, max_tokens=await self._reserve(request))
        keeping = asyncio.create_task(self.allowance.keep(), name="budget")
        answered = False
        try:
            async with closing(self.model.stream(allowed)) as events:
                async for event in events:
                    answered = answered or isinstance(event, Completion)
                    yield event
        finally:
            keeping.cancel()
            if not answered:
                self.allowance.release()

    async def _reserve(self, request: ChatRequest) -> int:
        """Reserve for a request; return the limit of its answer in tokens."""
        said, wanted = estimate_tokens(request) - request.max_tokens, request.max_tokens
        least = self._amount(said, min(USEFUL_TOKENS, wanted))
        most = self._amount(said, wanted)
        granted = await self.allowance.reserve(least, most)
        if granted == most:
            return wanted
        allowed = min(wanted, granted.tokens - said)
        a_token = (most.usd - self._amount(said, 0).usd) / wanted
        if a_token > 0:
            affordable = (granted.usd - self._amount(said, 0).usd) / a_token
            allowed = min(allowed, int(affordable))
        return max(1, allowed)

    def _amount(self, said: int, answer: int) -> Amount:
        usd = self.cost(self.name, Usage(input_tokens=said, output_tokens=answer))
        return Amount(said + answer, usd or Decimal(0))
