"""The circuits of provider accounts, shared by all workers through Valkey.

One hash an account, ``heartbit:breaker:{account}``, holds what ``agents.llm.wrappers.circuit``
calls a circuit, by the server's clock: ``failures`` (the times of the last ones), ``openings``,
``until`` (when a probe may go), ``probe`` and ``probe_until``. It expires when nobody fails.

* A process looks at a circuit at most once a second, whatever the number of calls; so another
  worker's opening, or a person's closing, is learnt of up to a second late. Failures are written at
  once; a success only after failures.
* While Valkey is away each process goes by what it has seen itself.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import redis
from redis.exceptions import RedisError

from agents.llm.wrappers.breaker import LocalBreaker, new_probe
from agents.llm.wrappers.circuit import (
    FAILURES,
    LONGEST_SECONDS,
    OPEN_SECONDS,
    PROBE_SECONDS,
    PROBED_SECONDS,
    WINDOW_SECONDS,
    Admission,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from redis.asyncio import Redis
    from redis.commands.core import AsyncScript

logger = logging.getLogger(__name__)

CALLS_AT_ONCE = 16
LOOK_SECONDS = 1.0
TIMEOUT_SECONDS = 1.0
LEAVE_ALONE_SECONDS = 5.0
WARN_SECONDS = 60.0
REMEMBER_SECONDS = 600.0  # an open circuit that nobody asks about is forgotten after this

# Each script answers with the seconds until a call may go, the failures so far, and 1 for a probe.
_BEGIN = """
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local saved = redis.call('HMGET', KEYS[1], 'openings', 'until', 'probe', 'probe_until', 'failures')
local openings, open_until = tonumber(saved[1] or 0), tonumber(saved[2] or 0)
local probe, probe_until = saved[3] or '', tonumber(saved[4] or 0)
local failures = {}
for at in string.gmatch(saved[5] or '', '%S+') do table.insert(failures, at) end
local function text(value) return string.format('%.6f', value) end
local function answer(wait, is_probe)
  if wait > 0 then wait = math.max(wait, 0.001) end
  return {text(wait), #failures, is_probe}
end
local function left()
  if openings == 0 then return 0 end
  return math.max(open_until - now, 0.001)
end
"""

# ARGV: the probe's name, how long it may take, how long others wait for it.
_ADMIT = (
    _BEGIN
    + """
if openings == 0 then return answer(0, 0) end
if now < open_until then return answer(open_until - now, 0) end
if probe ~= '' and now < probe_until then
  return answer(math.min(tonumber(ARGV[3]), probe_until - now), 0)
end
redis.call('HSET', KEYS[1], 'probe', ARGV[1], 'probe_until', text(now + tonumber(ARGV[2])))
return answer(0, 1)
"""
)

# ARGV: the probe's name or nothing, failures that open, their window, first and longest opening,
# how long it is remembered.
_FAILED = (
    _BEGIN
    + """
local mine = ARGV[1] ~= '' and ARGV[1] == probe
if openings > 0 and not mine then return answer(left(), 0) end
local recent = {}
for _, at in ipairs(failures) do
  if tonumber(at) > now - tonumber(ARGV[3]) then table.insert(recent, at) end
end
table.insert(recent, text(now))
failures = recent
if not mine and #failures < tonumber(ARGV[2]) then
  redis.call('HSET', KEYS[1], 'failures', table.concat(failures, ' '))
  redis.call('PEXPIRE', KEYS[1], math.ceil(tonumber(ARGV[3]) * 1000))
  return answer(0, 0)
end
open_until = now + math.min(tonumber(ARGV[5]), tonumber(ARGV[4]) * 2 ^ openings)
openings = math.min(openings + 1, 16)
failures = {}
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'openings', openings, 'until', text(open_until))
redis.call('PEXPIRE', KEYS[1], math.ceil((open_until - now + tonumber(ARGV[6])) * 1000))
return answer(open_until - now, 0)
"""
)

# ARGV: the probe's name or nothing.
_SUCCEEDED = (
    _BEGIN
    + """
if openings > 0 and (ARGV[1] == '' or ARGV[1] ~= probe) then return answer(left(), 0) end
redis.call('DEL', KEYS[1])
failures = {}
return answer(0, 0)
"""
)

# ARGV: the probe's name.
_UNDECIDED = (
    _BEGIN
    + """
if ARGV[1] == probe then redis.call('HDEL', KEYS[1], 'probe', 'probe_until') end
return answer(left(), 0)
"""
)


def breaker_key(account: str) -> str:
    """The account's hash in Valkey."""
    return f"heartbit:breaker:{account}"


@dataclass(slots=True)
class _Known:
    """What this process saw of a circuit when it last looked, by its own clock."""

    closed: bool = True
    wait_until: float = 0.0
    failures: int = 0
    look_again: float = 0.0


class ValkeyBreaker:
    """The ``Breaker`` of a fleet; see the module for what it costs."""

    def __init__(
        self,
        client: Redis,
        *,
        failures: int = FAILURES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the loop's client (strings out); ``clock`` is only for this process's own waits."""
        self._clock = clock
        self._failures = failures
        self._admit = client.register_script(_ADMIT)
        self._failed = client.register_script(_FAILED)
        self._succeeded = client.register_script(_SUCCEEDED)
        self._undecided = client.register_script(_UNDECIDED)
        self._turns = asyncio.Semaphore(CALLS_AT_ONCE)
        self._known: dict[str, _Known] = {}
        self._own = LocalBreaker(failures=failures, clock=clock)
        self._away_until = 0.0
        self._warn_again = 0.0

    async def admit(self, account: str) -> Admission:
        """See ``Breaker.admit``."""
        known = self._state(account)
        now = self._clock()
        if now < self._away_until:
            return await self._own.admit(account)
        over = not known.closed and now >= known.wait_until
        if now < known.look_again and not over:
            return self._remembered(known)
        # First, so that one call of many asks; the others go by what was seen last.
        known.look_again = now + LOOK_SECONDS
        known.wait_until = max(known.wait_until, known.look_again)
        probe = new_probe()
        answer = await self._call(self._admit, account, probe, PROBE_SECONDS, PROBED_SECONDS)
        if answer is None:
            known.closed, known.look_again = True, 0.0
            return await self._own.admit(account)
        self._learn(known, answer)
        if answer[2]:
            known.closed = False
            known.wait_until = self._clock() + PROBED_SECONDS
            return Admission(probe=probe)
        return self._remembered(known)

    async def failed(self, account: str, probe: str) -> None:
        """See ``Breaker.failed``."""
        await self._own.failed(account, probe)
        rules = (self._failures, WINDOW_SECONDS, OPEN_SECONDS, LONGEST_SECONDS, REMEMBER_SECONDS)
        await self._report(self._failed, account, probe, *rules)

    async def succeeded(self, account: str, probe: str) -> None:
        """See ``Breaker.succeeded``."""
        await self._own.succeeded(account, probe)
        if probe or self._state(account).failures:
            await self._report(self._succeeded, account, probe)

    async def undecided(self, account: str, probe: str) -> None:
        """See ``Breaker.undecided``."""
        await self._own.undecided(account, probe)
        await self._report(self._undecided, account, probe)

    def _state(self, account: str) -> _Known:
        return self._known.setdefault(account, _Known())

    def _remembered(self, known: _Known) -> Admission:
        if known.closed:
            return Admission()
        return Admission(wait=max(known.wait_until - self._clock(), 0.001))

    async def _report(self, script: AsyncScript, account: str, *arguments: str | float) -> None:
        answer = await self._call(script, account, *arguments)
        if answer is not None:
            self._learn(self._state(account), answer)

    def _learn(self, known: _Known, answer: tuple[float, int, bool]) -> None:
        wait, known.failures, _ = answer
        now = self._clock()
        known.closed = wait <= 0
        known.wait_until = now + wait
        known.look_again = now + LOOK_SECONDS

    async def _call(
        self, script: AsyncScript, account: str, *arguments: str | float
    ) -> tuple[float, int, bool] | None:
        """Run a script; None when Valkey is away."""
        async with self._turns:
            if self._clock() < self._away_until:
                return None
            try:
                async with asyncio.timeout(TIMEOUT_SECONDS):
                    wait, failures, probe = await script(
                        keys=[breaker_key(account)], args=arguments
                    )
            except (RedisError, OSError) as error:  # OSError: TimeoutError is one
                self._lost(error)
                return None
        return float(wait), int(failures), bool(int(probe))

    def _lost(self, error: Exception) -> None:
        now = self._clock()
        self._away_until = now + LEAVE_ALONE_SECONDS
        if now >= self._warn_again:
            self._warn_again = now + WARN_SECONDS
            logger.warning(
                "Valkey is away, so workers do not tell each other which providers are unwell: %s",
                str(error) or type(error).__name__,
            )


@dataclass(frozen=True, slots=True)
class OpenCircuit:
    """A circuit that is open, for people to see.

    Attributes:
        openings: How often it opened since a call last succeeded.
        seconds_left: Until one call tries; 0: it may, or does already.
    """

    openings: int
    seconds_left: float


def open_circuits(url: str, accounts: Sequence[str]) -> dict[str, OpenCircuit]:
    """Those of the accounts whose circuits are open; blocks, and is for the admin.

    Raises:
        RedisError: Valkey is away.
    """
    if not accounts:
        return {}
    with _client(url) as client:
        pipeline = client.pipeline(transaction=False)
        pipeline.time()
        for account in accounts:
            pipeline.hmget(breaker_key(account), "openings", "until")
        (seconds, micros), *rows = pipeline.execute()
    now = seconds + micros / 1_000_000
    return {
        account: OpenCircuit(int(openings), max(0.0, float(until) - now))
        for account, (openings, until) in zip(accounts, rows, strict=True)
        if openings is not None
    }


def close_circuit(url: str, account: str) -> None:
    """Let calls go again, whatever was seen before; blocks, and is for the admin.

    Raises:
        RedisError: Valkey is away.
    """
    with _client(url) as client:
        client.delete(breaker_key(account))


def _client(url: str) -> redis.Redis:
    return redis.Redis.from_url(
        url, decode_responses=True, socket_timeout=1.0, socket_connect_timeout=1.0
    )
