"""One slice of a run: model, tools, results, until the run ends, suspends, or loses its lease.

The loop decides from the folded journal alone, so a slice may begin wherever an earlier one died.
ReAct: Yao et al., "ReAct: Synergizing Reasoning and Acting in Language Models", 2022.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Literal

from agents.errors import JournalAwayError, LeaseLostError
from agents.events import (
    Event,
    ModelAnswered,
    RunFailed,
    RunSucceeded,
    ToolFinished,
    ToolStarted,
)
from agents.llm.errors import ModelError, StreamTruncatedError
from agents.llm.messages import ChatRequest, Completion, TextDelta
from agents.loop.ports import PendingSuspension, Ports
from heartbit_site.base.toolspec import Effect
from tools.pipeline import Done, Waiting

if TYPE_CHECKING:
    from agents.loop.definition import AgentDefinition
    from agents.loop.journaled import JournaledState
    from agents.loop.state import CallState

MAX_CALLS = 64  # tool calls of one answer that are served; a model that asks for more is told
UNCERTAIN = (
    "It is unknown whether this call took effect: the worker died while it ran. It was not "
    "repeated. Check before you call the tool again."
)

Outcome = Literal["succeeded", "failed", "cancelled", "suspended"]


def _one_of(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error of parallel calls that says what becomes of the slice."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        return asyncio.CancelledError()  # it is being stopped, whatever else went wrong meanwhile
    for kind in (LeaseLostError, JournalAwayError):
        found = errors.subgroup(kind)
        if found is not None:
            return kind(str(found))
    return errors


class Slice:
    """The engine of one slice. Cancel the task that awaits ``run`` to stop it."""

    def __init__(
        self, journaled: JournaledState, definition: AgentDefinition, ports: Ports
    ) -> None:
        self._journaled = journaled
        self._state = journaled.state
        self._definition = definition
        self._ports = ports
        self._began = time.monotonic()

    async def run(self) -> Outcome:
        """Work until the slice is over.

        Raises:
            LeaseLostError: Another worker has the run; nothing more may be written.
            HeartbitError: The run's definition cannot be executed.
            asyncio.CancelledError: The caller stops the slice.
        """
        while True:
            outcome = await self._step()
            if outcome is not None:
                return outcome

    async def _step(self) -> Outcome | None:
        state = self._state
        if state.cancel_reason is not None:
            await self._journaled.cancel()
            return "cancelled"
        if state.open_calls():
            return await self._serve_calls()
        if state.answer is not None:
            return await self._end(RunSucceeded(output=state.answer))
        limit = self._limit_reached()
        if limit is not None:
            return await self._end(limit)
        return await self._ask_model()

    async def _end(self, ending: RunSucceeded | RunFailed, *events: Event) -> Outcome | None:
        """End the run, unless others wrote meanwhile: then decide again."""
        if not await self._journaled.finish(ending, *events):
            return None
        return "succeeded" if isinstance(ending, RunSucceeded) else "failed"

    # ------------------------------------------------------------------------------------- model

    async def _ask_model(self) -> Outcome | None:
        turn = self._state.turn + 1
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._seconds_left()):
                completion = await self._stream(turn)
        except TimeoutError:
            return await self._end(self._out_of_time())
        except ModelError as error:
            return await self._end(
                RunFailed(kind="model", message=str(error), partial=self._state.partial)
            )
        cost = self._ports.cost(self._ports.model.name, completion.usage)
        answered = ModelAnswered(
            turn=turn,
            message=completion.message,
            usage=completion.usage,
            finish_reason=completion.finish_reason,
            model=self._ports.model.name,
            duration_ms=round((time.monotonic() - began) * 1000),
            cost_usd=None if cost is None else str(cost),
        )
        if not completion.message.tool_calls:
            ending = RunSucceeded(completion.message.text, finish_reason=completion.finish_reason)
            if outcome := await self._end(ending, answered):
                return outcome
        # Journaled even when others were quicker: an answer once received is never asked for again.
        await self._journaled.record(answered)
        return None

    async def _stream(self, turn: int) -> Completion:
        self._state.streamed = ""
        self._ports.live.restarted(turn)
        completion: Completion | None = None
        async for event in self._ports.model.stream(self._request()):
            if isinstance(event, Completion):
                completion = event
                continue
            if isinstance(event, TextDelta):
                self._state.streamed += event.text
            self._ports.live.delta(turn, event)
        if completion is None:
            raise StreamTruncatedError(
                f"{self._ports.model.name} ended its answer without finishing it: try again."
            )
        return completion

    def _request(self) -> ChatRequest:
        definition = self._definition
        return ChatRequest(
            system=definition.system_prompt,
            messages=tuple(self._state.conversation),
            tools=self._ports.toolbox.definitions(),
            examples=self._ports.toolbox.examples(),
            max_tokens=definition.max_tokens,
            temperature=definition.temperature,
            timeout_seconds=max(1.0, self._seconds_left()),
        )

    def _limit_reached(self) -> RunFailed | None:
        definition = self._definition
        if self._state.turn >= definition.max_turns:
            return RunFailed(
                kind="limit",
                limit="max_turns",
                message=(
                    f"Stopped after {definition.max_turns} turns (max_turns of {definition.name})."
                ),
                partial=self._state.partial,
            )
        if self._seconds_left() <= 0:
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
            partial=self._state.partial,
        )

    def _seconds_left(self) -> float:
        used = self._state.worked_seconds + time.monotonic() - self._began
        return self._definition.timeout_seconds - used

    # ------------------------------------------------------------------------------------- tools

    async def _serve_calls(self) -> Outcome | None:
        calls = self._state.open_calls()
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(self._serve(call))
                    if int(call.call_id.rpartition(".")[2]) < MAX_CALLS
                    else group.create_task(_too_many(call))
                    for call in calls
                ]
        except BaseExceptionGroup as group_error:
            raise _one_of(group_error) from group_error
        served = [task.result() for task in tasks]
        finished = [event for event in served if isinstance(event, ToolFinished)]
        if finished:
            await self._journaled.record(*finished)
        pending = [event for event in served if isinstance(event, PendingSuspension)]
        excess = self._beyond_parallel(pending)
        if excess:
            await self._journaled.record(*excess)
            pending = [call for call in pending if call.call_id in self._state.calls]
            pending = [call for call in pending if not self._state.calls[call.call_id].finished]
        if not pending:
            return None
        while self._state.cancel_reason is None:
            if await self._journaled.suspend(*pending):
                return "suspended"
        return None

    def _beyond_parallel(self, pending: list[PendingSuspension]) -> list[ToolFinished]:
        """Answers for the calls whose sub-agents would be more than may work at once."""
        limit, asked, excess = self._definition.max_parallel, 0, []
        for call in pending:
            asked += len(call.suspension.children)
            if asked > limit:
                text = f"At most {limit} sub-agents may work at once: ask again for these."
                excess.append(ToolFinished(call.call_id, "refused", text, Effect.PURE))
        return excess

    async def _serve(self, call: CallState) -> ToolFinished | PendingSuspension | None:
        """Serve one call. None: its result is journaled already (its effect may not wait)."""
        toolbox = self._ports.toolbox
        effect = toolbox.effect(call.call.name)
        began = time.monotonic()
        if call.started:
            # Served at most once a slice, so the intent is an earlier slice's, and that one died.
            return ToolFinished(call.call_id, "uncertain", UNCERTAIN, effect)
        if effect == Effect.TRANSACTIONAL:
            return await self._transact(call)
        if call.keys:
            outcomes = self._state.outcomes(call)
            if outcomes is None:
                raise ValueError(f"call {call.call_id} was resumed with open waits")
            done: Done | Waiting = toolbox.resume(call.call, outcomes)
        else:

            async def intent() -> None:
                await self._journaled.record(ToolStarted(call.call_id, effect))

            done = await toolbox.invoke(call.call_id, call.call, intent)
        if isinstance(done, Waiting):
            return PendingSuspension(call.call_id, done.suspension)
        event = ToolFinished(
            call.call_id,
            done.status,
            done.content,
            effect,
            round((time.monotonic() - began) * 1000),
        )
        if effect in (Effect.PURE, ""):
            return event  # journaled with its turn's other results
        await self._journaled.record(event)
        return None

    async def _transact(self, call: CallState) -> ToolFinished | None:
        limit = self._definition.tool_timeout_seconds
        body = self._ports.toolbox.transaction(call.call_id, call.call)
        await self._journaled.transact(body, timeout_seconds=limit)
        if call.finished is not None or call.call_id not in self._state.calls:
            return None
        return ToolFinished(
            call.call_id,
            "timeout",
            f"{call.call.name} did not finish within {limit:g} s; nothing it did was kept.",
            Effect.TRANSACTIONAL,
        )


async def _too_many(call: CallState) -> ToolFinished:
    text = f"At most {MAX_CALLS} tool calls are served in one turn: ask again for the rest."
    return ToolFinished(call.call_id, "refused", text)
