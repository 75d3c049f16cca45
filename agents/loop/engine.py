"""One slice of a run: model, tools, results, until the run ends, suspends, or loses its lease.

The loop decides from the folded journal alone, so a slice may begin wherever an earlier one died.
ReAct: Yao et al., "ReAct: Synergizing Reasoning and Acting in Language Models", 2022.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Literal

from agents.events import (
    Ending,
    Event,
    ModelAnswered,
    RunCancelled,
    RunFailed,
    RunSucceeded,
    ToolFinished,
    ToolStarted,
)
from agents.llm.errors import ModelError, StreamTruncatedError
from agents.llm.messages import ChatRequest, Completion, TextDelta
from agents.loop.definition import AgentDefinition
from agents.loop.ports import Moved, PendingSuspension, Ports, Settled
from agents.loop.state import CallState, RunState
from heartbit_site.base.toolspec import Effect
from tools.pipeline import Done, Waiting

UNCERTAIN = (
    "It is unknown whether this call took effect: the worker died while it ran. It was not "
    "repeated. Check before you call the tool again."
)

Outcome = Literal["succeeded", "failed", "cancelled", "suspended"]


@dataclass(slots=True)
class _Limits:
    """The clock of one slice: how long the run may still work."""

    definition: AgentDefinition
    began: float

    def seconds_left(self, state: RunState) -> float:
        used = state.worked_seconds + time.monotonic() - self.began
        return self.definition.timeout_seconds - used


class Slice:
    """The engine of one slice. Not shared between runs; cancel the task that awaits ``run``."""

    def __init__(self, state: RunState, definition: AgentDefinition, ports: Ports) -> None:
        self.state = state
        self._definition = definition
        self._ports = ports
        self._limits = _Limits(definition, time.monotonic())
        self._journal_order = asyncio.Lock()
        self._streamed = ""

    async def run(self) -> Outcome:
        """Work until the slice is over.

        Raises:
            LeaseLostError: Another worker has the run; nothing more may be written.
            asyncio.CancelledError: The caller stops the slice; see ``stop``.
        """
        while True:
            outcome = await self._step()
            if outcome is not None:
                return outcome

    async def stop(self, reason: str) -> Outcome:
        """End the run as cancelled, keeping what was produced. Called after cancelling ``run``."""
        ending = RunCancelled(reason=reason, partial=self._streamed or self.state.last_text)
        while not await self._finish(ending):
            pass
        return "cancelled"

    async def _step(self) -> Outcome | None:
        state = self.state
        if state.cancel_reason is not None:
            return await self.stop(state.cancel_reason)
        if state.open_calls():
            return await self._serve_calls()
        if state.answer is not None:
            done = await self._finish(RunSucceeded(output=state.answer))
            return "succeeded" if done else None
        limit = self._limit_reached()
        if limit is not None:
            return "failed" if await self._finish(limit) else None
        return await self._ask_model()

    # ------------------------------------------------------------------------------------- model

    async def _ask_model(self) -> Outcome | None:
        turn = self.state.turn + 1
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._limits.seconds_left(self.state)):
                completion = await self._stream(turn)
        except TimeoutError:
            return "failed" if await self._finish(self._out_of_time()) else None
        except ModelError as error:
            ending = RunFailed(kind="model", message=str(error), partial=self._partial())
            return "failed" if await self._finish(ending) else None
        answered = ModelAnswered(
            turn=turn,
            message=completion.message,
            usage=completion.usage,
            finish_reason=completion.finish_reason,
            model=completion.model,
            duration_ms=round((time.monotonic() - began) * 1000),
            cost_usd=self._ports.price(self._ports.model.name, completion.usage),
        )
        if not completion.message.tool_calls:
            ending = RunSucceeded(completion.message.text, finish_reason=completion.finish_reason)
            if await self._finish(ending, answered):
                return "succeeded"
        # Journaled even when others were quicker: an answer once received is never asked for again.
        await self._record(answered)
        self._streamed = ""
        return None

    async def _stream(self, turn: int) -> Completion:
        self._streamed = ""
        self._ports.live.restarted(turn)
        async for event in self._ports.model.stream(self._request()):
            if isinstance(event, Completion):
                return event
            if isinstance(event, TextDelta):
                self._streamed += event.text
            self._ports.live.delta(turn, event)
        raise StreamTruncatedError(f"{self._ports.model.name} ended its answer without finishing it.")

    def _request(self) -> ChatRequest:
        definition = self._definition
        return ChatRequest(
            system=definition.system_prompt,
            messages=tuple(self.state.conversation),
            tools=self._ports.toolbox.definitions(),
            max_tokens=definition.max_tokens,
            temperature=definition.temperature,
            timeout_seconds=max(1.0, self._limits.seconds_left(self.state)),
        )

    def _limit_reached(self) -> RunFailed | None:
        definition = self._definition
        if self.state.turn >= definition.max_turns:
            return RunFailed(
                kind="limit",
                limit="max_turns",
                message=f"Stopped after {definition.max_turns} turns (max_turns of {definition.name}).",
                partial=self._partial(),
            )
        if self._limits.seconds_left(self.state) <= 0:
            return self._out_of_time()
        return None

    def _out_of_time(self) -> RunFailed:
        definition = self._definition
        return RunFailed(
            kind="limit",
            limit="timeout_seconds",
            message=(
                f"Stopped after working {definition.timeout_seconds:g} s "
                f"(timeout_seconds of {definition.name})."
            ),
            partial=self._partial(),
        )

    def _partial(self) -> str:
        return self._streamed or self.state.last_text

    # ------------------------------------------------------------------------------------- tools

    async def _serve_calls(self) -> Outcome | None:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._serve(call)) for call in self.state.open_calls()]
        served = [task.result() for task in tasks]
        finished = [event for event in served if isinstance(event, ToolFinished)]
        if finished:
            await self._record(*finished)
        pending = [event for event in served if isinstance(event, PendingSuspension)]
        if not pending:
            return None
        while self.state.cancel_reason is None:
            result = await self._ports.journal.suspend(*pending)
            if isinstance(result, Settled):
                return "suspended"
            self._fold(result)
        return None

    async def _serve(self, call: CallState) -> ToolFinished | PendingSuspension | None:
        """Serve one call. None: its result is journaled already (its effect may not wait)."""
        toolbox = self._ports.toolbox
        effect = toolbox.effect(call.call.name)
        began = time.monotonic()
        if call.started:
            # Served at most once a slice, so the intent is an earlier slice's, and that one died.
            return ToolFinished(call.call_id, "uncertain", UNCERTAIN, effect)
        if call.keys:
            outcomes = self.state.outcomes(call)
            if outcomes is None:
                raise ValueError(f"call {call.call_id} was resumed with open waits")
            done: Done | Waiting = toolbox.resume(call.call, outcomes)
        else:

            async def intent() -> None:
                await self._record(ToolStarted(call.call_id, effect))

            done = await toolbox.invoke(call.call_id, call.call, intent)
        if isinstance(done, Waiting):
            return PendingSuspension(call.call_id, done.suspension)
        event = ToolFinished(
            call.call_id, done.status, done.content, effect, round((time.monotonic() - began) * 1000)
        )
        if effect in (Effect.PURE, ""):
            return event  # journaled with its turn's other results
        await self._record(event)
        return None

    # ----------------------------------------------------------------------------------- journal

    async def _record(self, *events: Event) -> None:
        async with self._journal_order:
            for recorded in await self._ports.journal.record(*events):
                self.state.fold(recorded)

    async def _finish(self, ending: Ending, *events: Event) -> bool:
        """End the run; False when the journal moved: its tail is folded, decide again."""
        result = await self._ports.journal.finish(ending, *events)
        if isinstance(result, Moved):
            self._fold(result)
            return False
        return True

    def _fold(self, moved: Moved) -> None:
        for recorded in moved.tail:
            self.state.fold(recorded)
