"""Circuit breaker: no calls to an account whose provider fails, until a probe succeeds.

The state belongs to a ``Breaker``: ``LocalBreaker`` for one process, or the fleet's in
``agents.runtime.providers.breaker``; ``agents.llm.wrappers.circuit`` has the rules.
"""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol

from agents.llm.errors import (
    AnswerTooLargeError,
    AuthenticationError,
    CircuitOpenError,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    ModelTimeoutError,
    OverloadedError,
    RateLimitedError,
    RequestRejectedError,
    StreamTruncatedError,
)
from agents.llm.messages import ChatRequest, Completion, StreamEvent
from agents.llm.protocol import ChatModel
from agents.llm.wrappers.circuit import FAILURES, Admission, Circuit
from agents.llm.wrappers.closing import closing

PATIENCE_SECONDS = 10.0  # a shorter silence may only mean that the time limit is too short
_SPREAD = 1.1  # factor of the wait, so that refused calls do not return all at once

Health = Literal["well", "unwell", "unknown"]

# Errors that prove that the provider answers.
_ANSWERS = (
    RateLimitedError,
    AuthenticationError,
    ModelNotFoundError,
    RequestRejectedError,
    AnswerTooLargeError,
)
_UNWELL = (OverloadedError, ModelConnectionError, StreamTruncatedError)


class Breaker(Protocol):
    """Circuits of provider accounts, shared by all users of an account."""

    async def admit(self, account: str) -> Admission:
        """Decide on a call; report the result of a probe by the probe's name."""
        ...

    async def failed(self, account: str, probe: str) -> None:
        """Report a failed attempt."""
        ...

    async def succeeded(self, account: str, probe: str) -> None:
        """Report an attempt that the provider answered."""
        ...

    async def undecided(self, account: str, probe: str) -> None:
        """Report a probe that ended without a result."""
        ...


class LocalBreaker:
    """A ``Breaker`` for one process and loop."""

    def __init__(
        self, *, failures: int = FAILURES, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Take the failures in a row that open a circuit, and a clock in seconds."""
        self._failures = failures
        self._clock = clock
        self._circuits: dict[str, Circuit] = {}

    async def admit(self, account: str) -> Admission:
        """See ``Breaker.admit``."""
        circuit = self._circuits.get(account)
        return Admission() if circuit is None else circuit.admit(self._clock(), new_probe())

    async def failed(self, account: str, probe: str) -> None:
        """See ``Breaker.failed``."""
        circuit = self._circuits.setdefault(account, Circuit(self._failures))
        circuit.failed(self._clock(), probe)

    async def succeeded(self, account: str, probe: str) -> None:
        """See ``Breaker.succeeded``."""
        if account in self._circuits:
            self._circuits[account].succeeded(probe)

    async def undecided(self, account: str, probe: str) -> None:
        """See ``Breaker.undecided``."""
        if account in self._circuits:
            self._circuits[account].undecided(probe)


@dataclass(frozen=True, slots=True)
class BreakerModel:
    """A ``ChatModel`` that is not called while its account's circuit is open.

    Attributes:
        account: Name of the account, as for ``LimitedModel``.
    """

    model: ChatModel
    breaker: Breaker
    account: str
    uniform: Callable[[float, float], float] = field(default=random.uniform, kw_only=True)

    @property
    def name(self) -> str:
        """``provider:model``, as journaled."""
        return self.model.name

    async def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        """See ``ChatModel.stream``.

        Raises:
            CircuitOpenError: The account's circuit is open.
        """
        admission = await self.breaker.admit(self.account)
        if admission.wait > 0:
            raise self._refusal(admission.wait)
        probe, health = admission.probe, "unknown"
        began, streamed = asyncio.get_running_loop().time(), False
        try:
            async with closing(self.model.stream(request)) as events:
                async for event in events:
                    streamed = True
                    if isinstance(event, Completion):
                        health = "well"
                        await self.breaker.succeeded(self.account, probe)
                    yield event
        except ModelError as error:
            waited = asyncio.get_running_loop().time() - began
            silent = not streamed and waited >= min(PATIENCE_SECONDS, request.timeout_seconds / 2)
            health = _health(error, silent=silent)
            if health == "unwell":
                await self.breaker.failed(self.account, probe)
            elif health == "well":
                await self.breaker.succeeded(self.account, probe)
            raise
        finally:
            if probe and health == "unknown":
                await self.breaker.undecided(self.account, probe)

    def _refusal(self, wait: float) -> CircuitOpenError:
        return CircuitOpenError(
            f"The provider of {self.name} keeps failing, so it is not called for "
            f"{wait:.0f} seconds; the call waits until then, or name another model to fall back "
            "on.",
            retry_after=max(1.0, self.uniform(wait, wait * _SPREAD)),
        )


def new_probe() -> str:
    """Return a unique name for a probe."""
    return secrets.token_hex(8)


def _health(error: ModelError, *, silent: bool) -> Health:
    if isinstance(error, _ANSWERS):
        return "well"
    if isinstance(error, _UNWELL) or (silent and isinstance(error, ModelTimeoutError)):
        return "unwell"
    return "unknown"
