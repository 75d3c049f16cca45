"""The model calls of one slice: what is sent, what streams, and what the answer cost."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from agents.context import summary
from agents.context.strategy import Summarize
from agents.events import ContextSummarized, ModelAnswered
from agents.llm.errors import ModelError, StreamTruncatedError
from agents.llm.messages import ChatRequest, Completion, Restarted, TextDelta
from agents.loop.request import request_of

if TYPE_CHECKING:
    from agents.llm.protocol import ChatModel
    from agents.loop.definition import AgentDefinition
    from agents.loop.journaled import JournaledState
    from agents.loop.limits import Limits
    from agents.loop.ports import Ports


class Asking:
    """Asks the model of one run.

    Attributes:
        restarts: How often the last model call was begun anew.
    """

    def __init__(
        self,
        journaled: JournaledState,
        definition: AgentDefinition,
        ports: Ports,
        limits: Limits,
    ) -> None:
        self._journaled = journaled
        self._state = journaled.state
        self._definition = definition
        self._ports = ports
        self._limits = limits
        self.restarts = 0

    @property
    def _model(self) -> ChatModel:
        """The run's own, or the stronger one once that has taken over."""
        strong = self._ports.strong if self._state.escalated else None
        return self._ports.model if strong is None else strong

    def settled(self) -> None:
        """The last call's usage is in the journal, or will never be."""
        self._ports.settled()

    async def next_answer(self) -> ModelAnswered:
        """Shorten the conversation if it is due, and ask for the next turn.

        Raises:
            ModelError: The model did not answer.
            TimeoutError: The run may not work any longer.
            LeaseLostError: Another worker has the run.
        """
        async with asyncio.timeout(self._limits.seconds_left()):
            await self._summarize()
            state = self._state
            turn, seen, began = state.turn + 1, state.folded_seq, time.monotonic()
            completion = await self._stream(turn, self._request())
            return ModelAnswered(
                turn=turn,
                message=completion.message,
                usage=completion.usage,
                finish_reason=completion.finish_reason,
                model=completion.model,
                duration_ms=round((time.monotonic() - began) * 1000),
                cost_usd=self._cost(completion),
                seen=seen,
            )

    async def _stream(self, turn: int, request: ChatRequest) -> Completion:
        self.restarts = 0
        self._restart(turn)
        completion: Completion | None = None
        async for event in self._model.stream(request):
            match event:
                case Completion():
                    completion = event
                case Restarted():
                    self.restarts += 1
                    self._restart(turn)
                case _:
                    if isinstance(event, TextDelta):
                        self._state.streamed += event.text
                    self._ports.live.delta(turn, event)
        return self._whole(completion)

    def _restart(self, turn: int) -> None:
        self._state.streamed = ""
        self._ports.live.restarted(turn)

    def _whole(self, completion: Completion | None) -> Completion:
        if completion is None:
            raise StreamTruncatedError(
                f"{self._model.name} ended its answer without finishing it: try again."
            )
        return completion

    def _request(self) -> ChatRequest:
        toolbox = self._ports.toolbox
        return request_of(
            self._state,
            self._definition,
            tools=toolbox.definitions(),
            examples=toolbox.examples(),
            timeout_seconds=self._limits.seconds_left(),
        )

    async def _summarize(self) -> None:
        """Let the model write down what came before, and go on from there."""
        strategy, state = self._definition.context, self._state
        conversation = tuple(state.conversation)
        if not isinstance(strategy, Summarize):
            return
        upto = summary.due(conversation, strategy, task=state.task)
        if upto is None:
            return
        system, messages = summary.prompt(conversation, upto, task=state.task)
        request = ChatRequest(
            system=system,
            messages=messages,
            max_tokens=summary.ANSWER_TOKENS,
            timeout_seconds=max(1.0, self._limits.seconds_left()),
            attempts=state.attempts,
        )
        began = time.monotonic()
        self.restarts = 0
        completion: Completion | None = None
        async for event in self._model.stream(request):
            self.restarts += isinstance(event, Restarted)
            completion = event if isinstance(event, Completion) else completion
        whole = self._whole(completion)
        if not whole.message.text.strip():
            raise ModelError(f"{whole.model} wrote an empty summary of the conversation.")
        summarized = ContextSummarized(
            turn=state.turn + 1,
            upto=upto,
            text=whole.message.text,
            usage=whole.usage,
            model=whole.model,
            duration_ms=round((time.monotonic() - began) * 1000),
            cost_usd=self._cost(whole),
        )
        await self._journaled.record(summarized)
        self.settled()

    def _cost(self, completion: Completion) -> str | None:
        cost = self._ports.cost(completion.model, completion.usage)
        return None if cost is None else str(cost)
