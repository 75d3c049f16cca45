"""Engine of a run that is one tool call: no model, and the call's result is the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.journal.events import RunFailed, RunSucceeded
from agents.loop import review
from agents.loop.effect_gate import EffectGate
from agents.loop.journaled import JournaledState
from agents.loop.ports import Toolbox
from agents.loop.protocol import Outcome
from agents.loop.tool_call_state import ToolCallState
from agents.loop.tool_calls import ToolCallRunner

if TYPE_CHECKING:
    from agents.definitions.definition import AgentDefinition


class ToolCallEngine:
    """Implementation of ``Engine`` for the kind ``tool_call``.

    The run's first event contains the call.
    """

    def __init__(
        self,
        journaled: JournaledState[ToolCallState],
        definition: AgentDefinition,
        toolbox: Toolbox,
        gate: EffectGate,
    ) -> None:
        self._journaled = journaled
        self._state = journaled.state
        self._tool_calls = ToolCallRunner(journaled, definition, toolbox, gate)

    async def run(self) -> Outcome:
        """Make the call and end the run with its result (see ``Engine``)."""
        while True:
            outcome = await self._step()
            if outcome is not None:
                return outcome

    async def record_interrupted(self) -> None:
        """Do nothing: ``ToolCallRunner`` journals an interrupted call."""

    async def _step(self) -> Outcome | None:
        if (outcome := await review.end_by_people(self._journaled)) is not None:
            return outcome
        if self._state.open_calls():
            return "suspended" if await self._tool_calls.run_open_calls() else None
        served = self._state.served
        if served is None or served.finished is None:
            raise TypeError("the first event of a tool call's run names no call")
        result = served.finished
        if result.status != "ok":
            message = f"The tool {served.call.name} failed: {result.content}"
            return "failed" if await self._journaled.finish(RunFailed("tool", message)) else None
        return await review.end_run(self._journaled, RunSucceeded(result.content))
