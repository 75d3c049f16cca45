"""Reservations of budgets by model calls in flight: in Valkey for a fleet, or in one process.

One hash a budget, ``heartbit:budget:{id}``, holds for each run with a call in flight the expiry of
its reservation (by the server's clock), its tokens, and its money in billionths of a dollar. A
killed worker's reservations expire; those of live workers are renewed.

While Valkey is down others' reservations are not visible: only the spent amounts count.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Protocol

from redis.asyncio import Redis

from agents.llm.wrappers.budget import Amount
from agents.runtime.providers.valkey_guard import ValkeyGuard

logger = logging.getLogger(__name__)

_NANO = Decimal(1_000_000_000)

# KEYS: budgets. ARGV: holder, seconds, tokens, nanodollars. Returns all others' tokens and money.
_PUT = """
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local held = {}
for n, key in ipairs(KEYS) do
  local tokens, money = 0, 0
  local all = redis.call('HGETALL', key)
  for i = 1, #all, 2 do
    local until_, its_tokens, its_money = string.match(all[i + 1], '(%S+) (%S+) (%S+)')
    if tonumber(until_) <= now then
      redis.call('HDEL', key, all[i])
    elseif all[i] ~= ARGV[1] then
      tokens, money = tokens + tonumber(its_tokens), money + tonumber(its_money)
    end
  end
  redis.call('HSET', key, ARGV[1],
             string.format('%.6f %s %s', now + tonumber(ARGV[2]), ARGV[3], ARGV[4]))
  redis.call('PEXPIRE', key, math.ceil(tonumber(ARGV[2]) * 1000) + 1000)
  held[n] = string.format('%.0f %.0f', tokens, money)
end
return held
"""


class Reservations(Protocol):
    """Reservations by budget and holder."""

    async def put(
        self, budgets: Sequence[int], holder: str, amount: Amount, *, seconds: float
    ) -> dict[int, Amount]:
        """Replace the holder's reservation, which expires after ``seconds``.

        Returns:
            Amount of each budget that others have reserved.
        """
        ...

    async def drop(self, budgets: Sequence[int], holder: str) -> None:
        """Delete the holder's reservations."""
        ...


class LocalReservations:
    """``Reservations`` of one process."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Take a clock of seconds with any origin."""
        self._clock = clock
        self._held: dict[int, dict[str, tuple[float, Amount]]] = {}

    async def put(
        self, budgets: Sequence[int], holder: str, amount: Amount, *, seconds: float
    ) -> dict[int, Amount]:
        """See ``Reservations.put``."""
        now, others = self._clock(), {}
        for budget in budgets:
            held = self._held.get(budget, {})
            live = {who: it for who, it in held.items() if it[0] > now and who != holder}
            others[budget] = Amount(
                sum(it.tokens for _, it in live.values()),
                sum((it.usd for _, it in live.values()), Decimal(0)),
            )
            self._held[budget] = {**live, holder: (now + seconds, amount)}
        return others

    async def drop(self, budgets: Sequence[int], holder: str) -> None:
        """See ``Reservations.drop``."""
        for budget in budgets:
            self._held.get(budget, {}).pop(holder, None)


class ValkeyReservations:
    """``Reservations`` of a fleet."""

    def __init__(self, client: Redis, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Take the loop's client (strings out); reservations use the server's clock."""
        self._client = client
        self._put = client.register_script(_PUT)
        self._guard = ValkeyGuard(
            logger, "calls in flight are not counted against budgets yet", clock=clock
        )

    async def put(
        self, budgets: Sequence[int], holder: str, amount: Amount, *, seconds: float
    ) -> dict[int, Amount]:
        """See ``Reservations.put``; others have reserved nothing while Valkey is down."""
        keys = [budget_key(budget) for budget in budgets]
        nanos = int((amount.usd * _NANO).to_integral_value())
        others = dict.fromkeys(budgets, Amount())
        async with self._guard.attempt() as there:
            if there:
                held = await self._put(keys=keys, args=(holder, seconds, amount.tokens, nanos))
                others = {n: _amount(said) for n, said in zip(budgets, held, strict=True)}
        return others

    async def drop(self, budgets: Sequence[int], holder: str) -> None:
        """See ``Reservations.drop``."""
        async with self._guard.attempt() as there:
            if there:
                pipeline = self._client.pipeline(transaction=False)
                for budget in budgets:
                    pipeline.hdel(budget_key(budget), holder)
                await pipeline.execute()


def budget_key(budget: int) -> str:
    """Return the key of the budget's hash in Valkey."""
    return f"heartbit:budget:{budget}"


def _amount(said: str) -> Amount:
    tokens, nanos = said.split()
    return Amount(int(tokens), int(nanos) / _NANO)
