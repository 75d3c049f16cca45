"""Model calls of one slice: request, streaming and cost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from agents.context import summary
from agents.context.strategy import Summarize
from agents.journal.events import ContextSummarized, ModelAnswered, ModelInterrupted
from agents.llm.errors import ModelError, StreamTruncatedError
from agents.llm.messages import ChatRequest, Completion, Restarted, StreamEvent, TextDelta, Usage
from agents.llm.protocol import ChatModel
from agents.llm.wrappers.closing import closing
from agents.loop.agent_state import AgentState
from agents.loop.attempt import Attempt
from agents.loop.call_ids import with_unique_ids
from agents.loop.journaled import JournaledState
from agents.loop.limits import Limits
from agents.loop.ports import Ports
from agents.loop.request import build_request

if TYPE_CHECKING:
    from agents.definitions.definition import AgentDefinition


class ModelCaller:
    """Caller of the model of one run.

    Attributes:
        restarts: Number of restarts of the last model call.
    """

    def __init__(
        self,
        journaled: JournaledState[AgentState],
        definition: AgentDefinition,
        ports: Ports,
        limits: Limits,
        wait_until_alive: Callable[[], Awaitable[None]],
    ) -> None:
        self._journaled = journaled
        self._state = journaled.state
        self._definition = definition
        self._ports = ports
        self._limits = limits
        self._wait_until_alive = wait_until_alive
        self.restarts = 0
        self._attempt: Attempt | None = None

    @property
    def _model(self) -> ChatModel:
        """Model of the run, or the stronger one once it has taken over."""
        strong = self._ports.strong_model if self._state.escalated else None
        return self._ports.model if strong is None else strong

    @contextmanager
    def journaling(self) -> Iterator[None]:
        """Surround the write of the last call's answer, which settles its usage."""
        try:
            with self._ports.journaling():
                yield
        finally:
            self._ports.settled()

    async def call_model(self) -> ModelAnswered:
        """Shorten the conversation if it is due, and ask for the next turn.

        Raises:
            ModelError: The model did not answer.
            TimeoutError: The run has used up its working time.
            LeaseLostError: Another worker has the run.
            asyncio.CancelledError: The caller stops the slice, and calls ``record_interrupted``.
        """
        try:
            async with asyncio.timeout(self._limits.seconds_left()):
                await self._summarize()
                return await self._answer()
        except TimeoutError:
            await self.record_interrupted("The run's time was over.")
            raise
        except ModelError as error:
            await self.record_interrupted(str(error))
            raise

    async def _answer(self) -> ModelAnswered:
        state = self._state
        turn, seen, began = state.turn + 1, state.folded_seq, time.monotonic()
        self._restart(turn)
        completion = await self._stream(Attempt(self._request(), turn), partial(self._show, turn))
        return ModelAnswered(
            turn=turn,
            message=with_unique_ids(completion.message, turn, state.conversation),
            usage=completion.usage,
            finish_reason=completion.finish_reason,
            model=completion.model,
            duration_ms=round((time.monotonic() - began) * 1000),
            cost_usd=self._cost(completion.model, completion.usage),
            seen=seen,
        )

    async def _stream(self, attempt: Attempt, show: Callable[[StreamEvent], None]) -> Completion:
        """Call the model and return its answer; journal the cost of restarted attempts."""
        self.restarts = 0
        self._attempt = attempt
        completion: Completion | None = None
        async with closing(self._model.stream(attempt.request)) as events:
            async for event in events:
                match event:
                    case Completion():
                        completion = event
                        continue
                    case Restarted(reason=reason):
                        self.restarts += 1
                        await self.record_interrupted(reason)
                        attempt = self._attempt = Attempt(attempt.request, attempt.turn)
                    case _:
                        attempt.count(event)
                show(event)
        if completion is None:
            raise StreamTruncatedError(
                f"{self._model.name} ended its answer without finishing it: try again."
            )
        self._attempt = None
        return _counted(completion, attempt)

    def _show(self, turn: int, event: StreamEvent) -> None:
        if isinstance(event, Restarted):
            self._restart(turn)
            return
        if isinstance(event, TextDelta):
            self._state.streamed += event.text
        self._ports.live.delta(turn, event)

    async def record_interrupted(self, reason: str) -> None:
        """Journal the current attempt as interrupted, if it has received any text."""
        attempt, self._attempt = self._attempt, None
        if attempt is None or not attempt.characters:
            return
        usage, model = attempt.usage(), self._model.name
        cost = self._cost(model, usage)
        await self._journaled.record(
            ModelInterrupted(attempt.turn, reason, usage, model, attempt.duration_ms, cost)
        )

    def _restart(self, turn: int) -> None:
        self._state.streamed = ""
        self._ports.live.restarted(turn)

    def _request(self) -> ChatRequest:
        toolbox = self._ports.toolbox
        request = build_request(
            self._state,
            self._definition,
            tools=toolbox.definitions(with_artifacts=self._state.has_artifacts),
            examples=toolbox.examples(),
            timeout_seconds=self._limits.seconds_left(),
            known=self._ports.known,
        )
        return replace(request, ready=self._wait_until_alive)

    async def _summarize(self) -> None:
        """Replace the beginning of a long conversation by the model's summary."""
        strategy, state = self._definition.context, self._state
        conversation = tuple(state.conversation)
        if not isinstance(strategy, Summarize):
            return
        upto = summary.due(conversation, strategy, task=state.task_message)
        if upto is None:
            return
        system, messages = summary.prompt(conversation, upto, task=state.task_message)
        request = ChatRequest(
            system=system,
            messages=messages,
            max_tokens=summary.ANSWER_TOKENS,
            timeout_seconds=max(1.0, self._limits.seconds_left()),
            attempts=state.attempts,
            ready=self._wait_until_alive,
        )
        began = time.monotonic()
        whole = await self._stream(Attempt(request, state.turn + 1), _show_nothing)
        if not whole.message.text.strip():
            raise ModelError(f"{whole.model} wrote an empty summary of the conversation.")
        summarized = ContextSummarized(
            turn=state.turn + 1,
            upto=upto,
            text=whole.message.text,
            usage=whole.usage,
            model=whole.model,
            duration_ms=round((time.monotonic() - began) * 1000),
            cost_usd=self._cost(whole.model, whole.usage),
        )
        with self.journaling():
            await self._journaled.record(summarized)

    def _cost(self, model: str, usage: Usage) -> str | None:
        cost = self._ports.cost(model, usage)
        return None if cost is None else str(cost)


def _show_nothing(_: StreamEvent) -> None:
    """Ignore the text: a summary is not shown as an answer."""


def _counted(completion: Completion, attempt: Attempt) -> Completion:
    """Estimate the usage if the provider reported none: the call must not count as free."""
    used = completion.usage
    if used.input_tokens or used.output_tokens:
        return completion
    return replace(completion, usage=replace(attempt.usage(), raw={**used.raw, "estimated": True}))
