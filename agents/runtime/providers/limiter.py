"""Rate limits of provider accounts, shared by all workers through Valkey.

One hash an account, ``heartbit:limit:{account}``, holds three times of the server's clock: when
its request bucket and its token bucket are full again, and the end of a pause. It expires when all
three have passed. ``agents.llm.wrappers.bucket`` explains the arithmetic.

* An account with limits costs one round trip a reservation and one a settlement.
* A process checks an account without limits for a pause at most once a second, whatever the number
  of calls; so it learns of another worker's pause up to a second late. Its own apply at once.
* Availability over precision: while Valkey is down calls are unlimited, except for the pauses this
  process knows of. A call waits at most one second for Valkey; after that, none asks for five.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from redis.asyncio import Redis
from redis.commands.core import AsyncScript

from agents.llm.wrappers.bucket import Bucket
from agents.llm.wrappers.limit import Limits
from agents.runtime.providers.valkey_guard import CALLS_AT_ONCE, ValkeyGuard

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0

_NOW = """
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local function moment(value) return tonumber(value or 0) end
local function text(value) return string.format('%.6f', value) end
local function keep_until(last)
  local wanted = math.ceil((last - now) * 1000) + 1
  if wanted > redis.call('PTTL', KEYS[1]) then redis.call('PEXPIRE', KEYS[1], wanted) end
end
"""

# ARGV: requests a second, size of that bucket, tokens a second, size, tokens, longest wait. A rate
# of 0: no limit; a longest wait below 0: reserve nothing. heartbit_site.api.rate_limit too.
RESERVE = (
    _NOW
    + """
local saved = redis.call('HMGET', KEYS[1], 'requests', 'tokens', 'paused')
local begin = math.max(now, moment(saved[3]))
local start = begin
local function take(due, rate, size, cost)
  if rate == 0 then return due end
  local full = math.max(due, begin)
  start = math.max(start, full + (math.min(cost, size) - size) / rate)
  return full + cost / rate
end
local requests = take(moment(saved[1]), tonumber(ARGV[1]), tonumber(ARGV[2]), 1)
local tokens = take(moment(saved[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]))
if start - now <= tonumber(ARGV[6]) then
  redis.call('HSET', KEYS[1], 'requests', text(requests), 'tokens', text(tokens))
  keep_until(math.max(requests, tokens, begin))
end
return text(start - now)
"""
)

# ARGV: seconds by which to delay the time when the token bucket is full; negative: a refund.
_SETTLE = (
    _NOW
    + """
local due = moment(redis.call('HGET', KEYS[1], 'tokens'))
local later = tonumber(ARGV[1])
if later > 0 then due = math.max(due, now) end
if due + later > now then
  redis.call('HSET', KEYS[1], 'tokens', text(due + later))
  keep_until(due + later)
elseif due > 0 then
  redis.call('HSET', KEYS[1], 'tokens', text(now))
end
return '0'
"""
)

# ARGV: seconds.
_PAUSE = (
    _NOW
    + """
local paused = math.max(moment(redis.call('HGET', KEYS[1], 'paused')), now + tonumber(ARGV[1]))
redis.call('HSET', KEYS[1], 'paused', text(paused))
keep_until(paused)
return text(paused - now)
"""
)


def limit_key(account: str) -> str:
    """Return the key of the account's hash in Valkey."""
    return f"heartbit:limit:{account}"


@dataclass(slots=True)
class _Pause:
    """Pause of an account as this process knows it, by its own clock."""

    until: float = 0.0
    look_again: float = 0.0


class ValkeyLimiter:
    """``Limiter`` of a fleet; the module describes its cost and its inaccuracies."""

    def __init__(self, client: Redis, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Take the loop's client (strings out, as ``agents.live.valkey.connect`` makes it).

        ``clock`` is only for this process's own waits; limits use the server's clock.
        """
        self._clock = clock
        self._reserve = client.register_script(RESERVE)
        self._settle = client.register_script(_SETTLE)
        self._pause = client.register_script(_PAUSE)
        # More runs may begin at once than the client has connections.
        self._turns = asyncio.Semaphore(CALLS_AT_ONCE)
        self._pauses: dict[str, _Pause] = {}
        self._guard = ValkeyGuard(
            logger, "the limits of provider accounts are not enforced", clock=clock
        )

    async def reserve(self, account: str, limits: Limits, tokens: int, *, max_wait: float) -> float:
        """See ``Limiter.reserve``; 0 while Valkey is down."""
        known = self._pauses.setdefault(account, _Pause())
        left = known.until - self._clock()
        if left > max_wait:
            return left
        if limits.requests is None and limits.tokens is None:
            return await self._look(account, known)
        rates = (*_rate(limits.requests), *_rate(limits.tokens))
        wait = await self._call(self._reserve, account, *rates, tokens, max_wait)
        return max(0.0, left) if wait is None else wait

    async def settle(self, account: str, limits: Limits, *, reserved: int, used: int) -> None:
        """See ``Limiter.settle``."""
        if limits.tokens is not None:
            later = (used - reserved) / limits.tokens.per_second
            await self._call(self._settle, account, later)

    async def pause(self, account: str, seconds: float) -> None:
        """See ``Limiter.pause``."""
        known = self._pauses.setdefault(account, _Pause())
        known.until = max(known.until, self._clock() + seconds)
        await self._call(self._pause, account, seconds)

    async def _look(self, account: str, known: _Pause) -> float:
        """Return the seconds left of a pause; ask Valkey at most once a second."""
        now = self._clock()
        if now >= max(known.look_again, known.until):
            known.look_again = now + LOOK_SECONDS  # first, so that one call of many asks
            left = await self._call(self._reserve, account, 0, 0, 0, 0, 0, -1)
            known.until = max(known.until, now + (left or 0.0))
        return max(0.0, known.until - self._clock())

    async def _call(self, script: AsyncScript, account: str, *arguments: float) -> float | None:
        """Run a script; return None while Valkey is down."""
        async with self._turns, self._guard.attempt() as there:
            if there:
                return float(await script(keys=[limit_key(account)], args=arguments))
        return None


def _rate(bucket: Bucket | None) -> tuple[float, float]:
    return (0.0, 0.0) if bucket is None else (bucket.per_second, bucket.size)
