"""Engine of a run that extracts memories from another run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agents.journal.events import Event, MemoriesExtracted, ModelAnswered, RunFailed, RunSucceeded
from agents.loop.agent_engine import AgentEngine
from agents.loop.effect_gate import EffectGate
from agents.loop.extraction_state import ExtractionState
from agents.loop.journaled import JournaledState
from agents.loop.limits import Limits
from agents.loop.ports import Ports
from agents.loop.protocol import Outcome

if TYPE_CHECKING:
    from agents.definitions.definition import AgentDefinition

_STORE_SECONDS = 60.0


class ExtractionEngine(AgentEngine):
    """Implementation of ``Engine`` for the kind ``extraction``.

    The model is called as for an agent's run. Its answer is journaled before anything is stored,
    and the memories are stored in one transaction with their event: a crash repeats neither.
    """

    def __init__(
        self,
        journaled: JournaledState[ExtractionState],
        definition: AgentDefinition,
        ports: Ports,
        gate: EffectGate,
        *,
        store: Callable[[Mapping[str, Any]], MemoriesExtracted] | None,
    ) -> None:
        """Take the function that stores an answer; None: there is nothing that may be read."""
        super().__init__(journaled, definition, ports, gate)
        self._store = store
        self._extraction = journaled.state
        self._time = Limits(definition, journaled.state)

    async def step(self) -> Outcome | None:
        """Take the next step (see ``AgentEngine``)."""
        if self._store is None and self._state.cancel_reason is None:
            return await super()._end(RunSucceeded("There was nothing to read."))
        return await super().step()

    async def _take(self, answered: ModelAnswered) -> Outcome | None:
        """Journal the answer; the next step stores what it proposes."""
        await self._journaled.record(answered)
        return None

    async def _end(self, ending: RunSucceeded | RunFailed, *events: Event) -> Outcome | None:
        if isinstance(ending, RunFailed):  # only the answers keep the model's text
            return await super()._end(replace(ending, partial=""), *events)
        stored = self._extraction.extracted
        if stored is None and self._store is not None:
            left = min(_STORE_SECONDS, self._time.seconds_left())
            if left <= 0:
                return await self._end(self._time.out_of_time())
            store, answer = self._store, ending.structured
            await self._journaled.transact(lambda: store(answer), timeout_seconds=left)
            return None
        text = "" if stored is None else stored.summary
        return await super()._end(RunSucceeded(text.capitalize() + "."), *events)
