"""Engine of an agent's run: model, tools, results, until it ends, suspends or loses its lease.

The loop decides from the folded journal alone, so a slice may begin wherever an earlier one
crashed. ReAct: Yao et al., "ReAct: Synergizing Reasoning and Acting in Language Models", 2022.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agents.journal.events import (
    BudgetAsked,
    Event,
    ModelAnswered,
    ModelDelayed,
    RunFailed,
    RunSucceeded,
)
from agents.journal.events.budget import NO_BUDGET
from agents.llm.errors import BudgetAsksError, BudgetSpentError, ModelError, ThrottledError
from agents.llm.messages import AssistantMessage, is_empty_answer
from agents.llm.wrappers.limit import LONGEST_PAUSE_SECONDS
from agents.loop import empty_answers, final_answer, review
from agents.loop.agent_state import AgentState
from agents.loop.effect_gate import EffectGate
from agents.loop.execution_mode import with_code_called
from agents.loop.journaled import JournaledState
from agents.loop.limits import Limits
from agents.loop.model_calls import ModelCaller
from agents.loop.ports import Ports
from agents.loop.protocol import Outcome
from agents.loop.tool_calls import ToolCallRunner

if TYPE_CHECKING:
    from agents.definitions.definition import AgentDefinition


class AgentEngine:
    """Implementation of ``Engine`` for the kind ``agent``."""

    def __init__(
        self,
        journaled: JournaledState[AgentState],
        definition: AgentDefinition,
        ports: Ports,
        gate: EffectGate,
    ) -> None:
        self._journaled = journaled
        self._unpriced = ports.unpriced
        self._state = journaled.state
        self._definition = definition
        self._limits = Limits(definition, self._state)
        self._model_calls = ModelCaller(
            journaled, definition, ports, self._limits, gate.wait_until_alive
        )
        self._tool_calls = ToolCallRunner(journaled, definition, ports.toolbox, gate)
        self._gate = gate

    async def run(self) -> Outcome:
        """Run until the slice is over (see ``Engine``)."""
        while True:
            outcome = await self.step()
            if outcome is not None:
                return outcome

    async def record_interrupted(self) -> None:
        """Journal the cost of the model call in flight (see ``Engine``)."""
        await self._model_calls.record_interrupted("The run was stopped.")

    async def step(self) -> Outcome | None:
        """Take the next step that the state requires; return None if the slice continues.

        A decision acts only through the ports, so the replay of recorded journals calls this with
        recording ports (``tests/chaos/replay``).
        """
        if (outcome := await review.end_by_people(self._journaled)) is not None:
            return outcome
        state = self._state
        answer = state.answer or self._spared()
        if answer is not None:
            ending = self._ending(answer)
            if ending is not None:
                return await self._end(
                    ending, *final_answer.respond_call_events(answer, state.turn)
                )
        if state.is_in_script:  # a script takes many short steps
            if self._gate.yield_reason:
                return "yielded"
            if self._limits.seconds_left() <= 0:
                return await self._end(self._limits.out_of_time())
        if state.open_calls():
            return "suspended" if await self._tool_calls.run_open_calls() else None
        if self._gate.yield_reason:
            return "yielded"
        limit = self._limits.reached()
        if limit is not None:
            return await self._end(limit)
        return await self._ask()

    def _ending(self, answer: AssistantMessage) -> RunSucceeded | RunFailed | None:
        """Return the run's end if its last answer ends it, else None."""
        definition, state = self._definition, self._state
        if not is_empty_answer(answer):
            return final_answer.build_ending(definition, answer, state.finish_reason)
        if empty_answers.should_retry(definition, state) and self._limits.reached() is None:
            return None
        return empty_answers.build_failure(definition, state)

    def _spared(self) -> AssistantMessage | None:
        """Return an answer older than an agent's message if no other may be requested.

        An agent's message grants no new turn, so it must not cost the run its answer either.
        """
        answer = self._state.answer_before_agent_message
        return answer if answer is not None and self._limits.reached() is not None else None

    async def _end(self, ending: RunSucceeded | RunFailed, *events: Event) -> Outcome | None:
        """End the run or let it be reviewed; None after a conflict: the engine decides again."""
        schema = self._definition.response_schema
        return await review.end_run(
            self._journaled, ending, *events, can_continue=True, response_schema=schema
        )

    async def _ask(self) -> Outcome | None:
        unpriced, state = self._unpriced, self._state
        if unpriced is not None and not state.may_spend_unpriced:
            if not unpriced.asks:
                return await self._end(self._limits.out_of_budget(BudgetSpentError(unpriced.text)))
            asked = BudgetAsked(state.budget_asks + 1, NO_BUDGET, unpriced.text)
            return "suspended" if await self._journaled.suspend(asked) else None
        await self._gate.wait_until_alive()
        try:
            answered = await self._model_calls.call_model()
        except TimeoutError:
            return await self._end(self._limits.out_of_time())
        except BudgetAsksError as error:
            asked = BudgetAsked(self._state.budget_asks + 1, error.budget, str(error))
            return "suspended" if await self._journaled.suspend(asked) else None
        except BudgetSpentError as error:
            return await self._end(self._limits.out_of_budget(error))
        except ModelError as error:
            return await self._failed(error)
        with self._model_calls.journaling():
            return await self._take(self._with_code_called(answered))

    def _with_code_called(self, answered: ModelAnswered) -> ModelAnswered:
        """Return an answer with calls that run its code, if the agent's mode says so."""
        definition, state = self._definition, self._state
        if definition.execution_mode == "never":
            return answered
        if answered.turn - state.steered_turn >= definition.max_turns:
            return answered  # no turn is left that could read the code's result
        message = with_code_called(
            answered.message,
            definition.execution_mode,
            state.task,
            turn=answered.turn,
            earlier=state.messages,
        )
        return replace(answered, message=message)

    async def _take(self, answered: ModelAnswered) -> Outcome | None:
        """Journal an answer, together with the run's end or suspension if nothing precedes that."""
        message = answered.message
        ending = final_answer.build_ending(self._definition, message, answered.finish_reason)
        if ending is not None:
            events = (answered, *final_answer.respond_call_events(message, answered.turn))
            if outcome := await self._end(ending, *events):
                return outcome
        elif await self._tool_calls.delegate_at_once(answered):
            return "suspended"
        # Journaled even after a conflict: an answer once received is never requested again.
        await self._journaled.record(answered)
        return None

    async def _failed(self, error: ModelError) -> Outcome | None:
        """Suspend for a long pause of the provider or Heartbit's limiter, else end the run."""
        state, policy, pause = self._state, self._definition.retry, error.retry_after
        own_limiter = isinstance(error, ThrottledError)
        # The retry wrapper around the model waits for shorter pauses itself.
        if pause is None or not (
            own_limiter or (state.attempts < policy.max_retries and pause > policy.hold_seconds)
        ):
            return await self._end(
                RunFailed(kind="model", message=str(error), partial=state.partial)
            )
        delayed = ModelDelayed(
            turn=state.turn + 1,
            key=f"timer:{state.delays}",
            reason=str(error),
            delay_seconds=min(pause, LONGEST_PAUSE_SECONDS),
            attempts=self._model_calls.restarts + (not own_limiter),
        )
        return "suspended" if await self._journaled.suspend(delayed) else None
