"""Circuit breakers of provider accounts, shared by all workers through Valkey.

One hash an account, ``heartbit:breaker:{account}``, holds a circuit of
``agents.llm.wrappers.circuit``, by the server's clock: ``failures`` (times of the recent ones),
``openings``, ``until`` (time of the next probe), ``probe`` and ``probe_until``. It expires without
further failures.

* A process reads a circuit at most once a second, whatever the number of calls; so it notices that
  another worker opened it, or a person closed it, up to a second late. Failures are written at
  once; a success only after failures.
* While Valkey is down each process uses its own observations.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from redis.asyncio import Redis
from redis.commands.core import AsyncScript

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
from agents.runtime.providers.circuit_scripts import (
    ADMIT,
    FAILED,
    SUCCEEDED,
    UNDECIDED,
    breaker_key,
)
from agents.runtime.providers.valkey_guard import CALLS_AT_ONCE, ValkeyGuard

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
REMEMBER_SECONDS = 600.0  # retention of an open circuit without calls


@dataclass(slots=True)
class _Known:
    """Circuit as this process last read it, by its own clock."""

    closed: bool = True
    wait_until: float = 0.0
    failures: int = 0
    look_again: float = 0.0


class ValkeyBreaker:
    """``Breaker`` of a fleet; the module describes its cost."""

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
        self._admit = client.register_script(ADMIT)
        self._failed = client.register_script(FAILED)
        self._succeeded = client.register_script(SUCCEEDED)
        self._undecided = client.register_script(UNDECIDED)
        self._turns = asyncio.Semaphore(CALLS_AT_ONCE)
        self._known: dict[str, _Known] = {}
        self._own = LocalBreaker(failures=failures, clock=clock)
        self._guard = ValkeyGuard(logger, "workers do not share their open circuits", clock=clock)

    async def admit(self, account: str) -> Admission:
        """See ``Breaker.admit``."""
        known = self._state(account)
        if self._guard.is_open:
            return await self._own.admit(account)
        now = self._clock()
        over = not known.closed and now >= known.wait_until
        if now < known.look_again and not over:
            return self._remembered(known)
        # Set before the query, so that one of many calls asks and the others use the last answer.
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
        """Run a script; return None while Valkey is down."""
        async with self._turns, self._guard.attempt() as there:
            if there:
                wait, failures, probe = await script(keys=[breaker_key(account)], args=arguments)
                return float(wait), int(failures), bool(int(probe))
        return None
