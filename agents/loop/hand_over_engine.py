"""Engine of a run that passes the conversation of another run to a memory provider."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from agents.journal.events import MemoriesExtracted, RunFailed, RunPaused, RunSucceeded
from agents.loop.effect_gate import EffectGate
from agents.loop.journaled import JournaledState
from agents.loop.protocol import Outcome
from heartbit_site.base.errors import HeartbitError

if TYPE_CHECKING:
    from agents.definitions.definition import AgentDefinition
    from agents.loop.extraction_state import ExtractionState

_FIRST_PAUSE_SECONDS: Final = 5.0
_LONGEST_PAUSE_SECONDS: Final = 300.0


class HandOverEngine:
    """Implementation of ``Engine`` for the kind ``extraction`` with another memory provider.

    Delivery is at least once: after a crash between the provider's commit and the journal's entry
    the texts are sent again. After a failure the run waits without a worker, and retries as often
    as the agent's retry setting allows.
    """

    def __init__(
        self,
        journaled: JournaledState[ExtractionState],
        definition: AgentDefinition,
        gate: EffectGate,
        *,
        give: Callable[[], Awaitable[MemoriesExtracted]] | None,
    ) -> None:
        """Take the function that hands over; None: there is nothing that may be read."""
        self._journaled = journaled
        self._state = journaled.state
        self._retries = definition.retry.max_retries
        self._gate = gate
        self._give = give

    async def run(self) -> Outcome:
        """Hand over, and end the run (see ``Engine``)."""
        while True:
            outcome = await self._step()
            if outcome is not None:
                return outcome

    async def record_interrupted(self) -> None:
        """Do nothing: no model is called."""

    async def _step(self) -> Outcome | None:
        state = self._state
        if state.cancel_reason is not None:
            await self._journaled.cancel()
            return "cancelled"
        if state.extracted is not None:
            summary = state.extracted.summary
            return await self._end(RunSucceeded(f"{summary[0].upper()}{summary[1:]}."))
        if self._give is None:
            return await self._end(RunSucceeded("There was nothing to read."))
        if self._gate.yield_reason:
            return "yielded"
        async with self._gate.effect():  # a stopping worker finishes and journals it first
            try:
                given = await self._give()
            except HeartbitError as error:
                return await self._failed(str(error))
            await self._journaled.record(given)
        return None

    async def _failed(self, message: str) -> Outcome | None:
        tries = self._state.attempts
        if tries >= self._retries:
            return await self._end(RunFailed("memory", message))
        paused = RunPaused(
            key=f"pause:{self._state.delays}",
            reason=message,
            delay_seconds=min(_FIRST_PAUSE_SECONDS * 4**tries, _LONGEST_PAUSE_SECONDS),
            attempts=1,
        )
        return "suspended" if await self._journaled.suspend(paused) else None

    async def _end(self, ending: RunSucceeded | RunFailed) -> Outcome | None:
        if not await self._journaled.finish(ending):
            return None  # conflict: decide again
        return "succeeded" if isinstance(ending, RunSucceeded) else "failed"
