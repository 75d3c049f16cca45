"""Spend no more than a budget allows: reserve before a call, let go once its answer is settled.

The state belongs to an ``Allowance``, one a run; ``agents.runtime.budgets`` has the runtime's.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Protocol

from agents.llm.messages import Completion, Usage
from agents.llm.wrappers.closing import closing
from agents.llm.wrappers.estimate import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from agents.llm.messages import ChatRequest, StreamEvent
    from agents.llm.protocol import ChatModel

USEFUL_TOKENS = 256  # an answer cut shorter than this is worth nothing


@dataclass(frozen=True, slots=True)
class Amount:
    """Tokens and money."""

    tokens: int = 0
    usd: Decimal = Decimal(0)

    def covers(self, other: Amount) -> bool:
        """Whether this is enough for that."""
        return self.tokens >= other.tokens and self.usd >= other.usd

    def at_most(self, other: Amount) -> Amount:
        """The lesser of both, each for itself."""
        return Amount(min(self.tokens, other.tokens), min(self.usd, other.usd))


class Allowance(Protocol):
    """What one run may still spend; it makes one model call at a time."""

    def is_known_unlimited(self) -> bool:
        """Whether it is known, without asking anybody, that there is no budget."""
        ...

    async def has_budget(self) -> bool:
        """Whether there is a budget at all; the answer may be some seconds old."""
        ...

    async def reserve(self, least: Amount, most: Amount) -> Amount:
        """Reserve as much as there is between both amounts.

        Raises:
            BudgetSpentError: Less than the least is left.
            ThrottledError: Others have reserved what is left; it may come back.
        """
        ...

    async def keep(self) -> None:
        """Hold the reservation until cancelled; without this it lapses after a while."""
        ...

    def release(self) -> None:
        """Give back what is reserved: it was spent and counted, or will not be spent."""
        ...


@dataclass(frozen=True, slots=True)
class BudgetedModel:
    """A ``ChatModel`` that asks a allowance before each call.

    The answer may be kept shorter than asked for, if less is left, but not too short to be of use.
    After an answer the reservation stays until whoever journals it says ``release``.

    Attributes:
        cost: The price of usage, as ``agents.llm.pricing`` has it; None: nobody knows.
    """

    model: ChatModel
    allowance: Allowance
    cost: Callable[[str, Usage], Decimal | None]

    @property
    def name(self) -> str:
        """``provider:model``, as journaled."""
        return self.model.name

    def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        """See ``ChatModel.stream``; without budgets this is the model's own.

        Raises:
            BudgetSpentError: A budget has too little left.
            ThrottledError: The calls under way have reserved what is left of it.
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
        """Reserve for a request; how long its answer may be, in tokens."""
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
