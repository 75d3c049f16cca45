"""Execution of a turn's open tool calls in parallel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from agents.errors import SubAgentUnavailableError
from agents.journal.events import (
    ApprovalRequested,
    Event,
    ModelAnswered,
    OutcomeRequested,
    ScriptCalled,
    ToolFinished,
)
from agents.journal.waits import is_for_tools
from agents.loop import delegation, final_answer
from agents.loop.call_record import CallBatch, CallRecord, CancelledFirstError
from agents.loop.call_state import CallingState, CallState
from agents.loop.effect_gate import EffectGate
from agents.loop.journaled import JournaledState
from agents.loop.ports import ApprovedCall, Pending, PendingSuspension, ReadyCall, Toolbox
from agents.loop.script_calls import advance
from agents.loop.unserved_calls import (
    CANCELLED_FIRST,
    CONFIRMED,
    SKIPPED,
    UNCERTAIN,
    beyond_parallel,
    decisive_error,
    denied,
    too_many,
)
from heartbit_site.base import aio
from heartbit_site.base.suspensions import QuestionReply
from heartbit_site.base.toolspec import Effect
from tools.calls.pipeline import SuspendedCall
from tools.calls.result import ToolResult

if TYPE_CHECKING:
    from agents.definitions.definition import AgentDefinition

MAX_CALLS = 64  # tool calls of one answer; further calls are refused
_ALLOWING = ("approved", "edited", "answered")  # decisions after which a call runs

Held = PendingSuspension | ApprovalRequested | OutcomeRequested
Served = ToolFinished | ScriptCalled | Held | None


@dataclass(frozen=True, slots=True)
class _Act:
    """A call that may act now."""

    call: CallState
    ready: ReadyCall
    effect: str


class ToolCallRunner:
    """Runner of the tool calls of one run."""

    def __init__(
        self,
        journaled: JournaledState[CallingState],
        definition: AgentDefinition,
        toolbox: Toolbox,
        gate: EffectGate,
        *,
        most_calls: int = MAX_CALLS,
        defers: bool = False,
    ) -> None:
        """Take the run and its tools.

        Args:
            journaled: State of the run.
            definition: Definition of the run's version.
            toolbox: Tools of the run.
            gate: Gate for external effects.
            most_calls: Number of calls of a step that are served; further ones are refused.
            defers: True to leave results without effects to ``take_deferred``.
        """
        self._most_calls, self._defers = most_calls, defers
        self._deferred: list[Event] = []
        self._journaled = journaled
        self._state = journaled.state
        self._definition = definition
        self._toolbox = toolbox
        self._gate = gate

    async def run_open_calls(self) -> bool:
        """Run every open call; return True if the run is suspended now.

        Raises:
            LeaseLostError: Another worker has claimed the run; nothing more may be written.
            JournalAwayError: The journal could not be written.
        """
        held = await self.take()
        while held and self._state.cancel_reason is None:
            try:
                if await self._journaled.suspend(*held):
                    return True
            except SubAgentUnavailableError as error:
                held = await self._without(error, held)
        return False

    async def take(self) -> list[Held]:
        """Run every open call that does not wait; return those that have to wait now.

        Raises:
            LeaseLostError: Another worker has claimed the run; nothing more may be written.
            JournalAwayError: The journal could not be written.
        """
        held: list[Held] = []
        while await self._take_further(held):
            if not held:
                break
        return held

    def take_deferred(self) -> list[Event]:
        """Return the results that are to be journaled with what follows from them."""
        deferred, self._deferred = self._deferred, []
        return deferred

    async def suspend(self, held: Sequence[Held], *pauses: Pending, wake_at: int = 0) -> bool:
        """Suspend the run for calls that have to wait.

        Return False to decide again; the calls then wait all the same, so that none is served
        twice.

        Args:
            held: The calls; none, if only earlier calls wait.
            pauses: Other waits of the run.
            wake_at: As for ``Journal.suspend``.
        """
        try:
            if await self._journaled.suspend(*held, *pauses, wake_at=wake_at):
                return True
        except SubAgentUnavailableError as error:
            held = await self._without(error, held)
        await self.begin_waits(held)
        return False

    async def begin_waits(self, held: Sequence[Held]) -> None:
        """Begin to wait for calls, and continue with others; a cancelled run begins nothing."""
        while held and self._state.cancel_reason is None:
            try:
                if await self._journaled.begin_waits(*held):
                    return
            except SubAgentUnavailableError as error:
                held = await self._without(error, held)

    async def delegate_at_once(self, answered: ModelAnswered) -> bool:
        """Journal an answer that only delegates, together with the run's suspension.

        Return False, with nothing journaled, if its calls must be handled one by one, or after a
        conflict.
        """
        asked = answered.message.tool_calls
        calls = [CallState(f"{answered.turn}.{n}", call) for n, call in enumerate(asked)]
        delegates = calls and all(
            delegation.starts_runs(call.call.name) and self._is_served(call) for call in calls
        )
        if not delegates or self._state.cancel_reason is not None:
            return False
        pending: list[Held] = []
        for call in calls:
            act = await self._begin(call)
            if not isinstance(act, _Act) or act.effect != Effect.PURE:
                return False
            suspended = await self._execute(act, None)
            if not isinstance(suspended, PendingSuspension):
                return False
            pending.append(suspended)
        if beyond_parallel(pending, self._definition.max_parallel):
            return False
        try:
            return await self._journaled.suspend(*pending, first=(answered,))
        except SubAgentUnavailableError:
            return False

    async def _take_further(self, held: list[Held]) -> bool:
        """Run the calls that are open and not held; return True if a script may continue.

        Args:
            held: Calls that are ready to suspend; those found now are added.
        """
        waiting = {one.call_id for one in held}
        try:
            served = await self._act_together(
                await aio.gather_all(
                    *(
                        self._serve(call)
                        for call in self._state.open_calls()
                        if call.call_id not in waiting and self._state.may_run(call)
                    )
                )
            )
        except BaseExceptionGroup as errors:
            error = decisive_error(errors)
            # The error's own cause is more helpful than the group that it was raised in.
            raise error from error.__cause__ or errors
        done = [event for event in served if isinstance(event, (ToolFinished, ScriptCalled))]
        pending = [
            event
            for event in served
            if event is not None and not isinstance(event, (ToolFinished, ScriptCalled))
        ]
        excess = beyond_parallel([*held, *pending], self._definition.max_parallel)
        if self._defers:
            self._deferred += [*done, *excess]
        elif done or excess:
            await self._journaled.record(*done, *excess)
        refused = {event.call_id for event in excess}
        held += [
            call
            for call in pending
            if not (isinstance(call, PendingSuspension) and call.call_id in refused)
        ]
        return self._may_continue(held)

    def _may_continue(self, held: list[Held]) -> bool:
        """Return True if a script can continue although other calls are held."""
        if self._state.cancel_reason is not None or self._gate.yield_reason:
            return False
        waiting = {one.call_id for one in held}
        return any(
            call.call_id not in waiting and not self._state.is_waiting_for_calls(call)
            for call in self._state.open_calls()
            if call.parent or call.rounds  # other calls end, or are held, on the first pass
        )

    async def _act_together(self, served: Sequence[Served | _Act]) -> list[Served]:
        """Carry out the calls that may act now."""
        acts = [each for each in served if isinstance(each, _Act)]
        in_threads = sum(self._toolbox.acts_in_thread(act.ready) for act in acts)
        batch = None
        if 1 < in_threads <= self._toolbox.free_threads:
            batch = CallBatch(self._journaled, in_threads)
        outcomes = iter(await aio.gather_all(*(self._act(act, batch) for act in acts)))
        return [next(outcomes) if isinstance(each, _Act) else each for each in served]

    async def _without(
        self, error: SubAgentUnavailableError, pending: Sequence[Held]
    ) -> list[Held]:
        """Refuse the calls of an unavailable sub-agent; return the other pending calls."""
        refused = [
            call
            for call in pending
            if isinstance(call, PendingSuspension)
            and any(child.agent == error.agent for child in call.suspension.children)
        ]
        if not refused:
            raise error  # no call of this turn asked for that agent: a retry would fail again
        answers = [
            ToolFinished(call.call_id, "refused", str(error), Effect.PURE) for call in refused
        ]
        await self._journaled.record(*answers)
        return [call for call in pending if call not in refused]

    def _is_served(self, call: CallState) -> bool:
        """Return True unless one step made too many calls; scripts count their own."""
        return bool(call.parent) or int(call.call_id.rpartition(".")[2]) < self._most_calls

    async def _serve(self, call: CallState) -> Served | _Act:
        """Advance one call as far as possible without acting."""
        if not self._is_served(call):
            return too_many(call, self._most_calls)
        if call.started == Effect.AT_MOST_ONCE:
            # A slice serves a call at most once, so the intent is from a slice that was lost.
            return await self._doubtful(call)
        if self._state.is_waiting_for_calls(call):
            return None
        refusal = final_answer.reject_response(self._definition, self._state, call)
        if refusal is not None:
            return refusal
        if call.wait_keys and not call.questions:
            return await self._resumed(call)
        return await self._begin(call)

    async def _doubtful(self, call: CallState) -> Served | _Act:
        """Resolve a call of unknown outcome by a person's answer or the agent's policy."""
        word = self._state.decision(call.outcome_request)
        if word is not None and call.outcome_request is not None:
            match word.value["status"]:
                case "retried":
                    if await self._lapsed(call, call.outcome_request.key):
                        return await self._doubtful(call)
                    return await self._begin(call)
                case "confirmed":
                    text = word.value.get("result") or CONFIRMED
                    return ToolFinished(call.call_id, "ok", text, call.started)
                case _:  # skipped, or no answer in time
                    return ToolFinished(call.call_id, "uncertain", SKIPPED, call.started)
        match self._definition.uncertain_calls:
            case "retry":
                return await self._begin(call)
            case "tell_model":
                return ToolFinished(call.call_id, "uncertain", UNCERTAIN, call.started)
        return OutcomeRequested(call.call_id, call.call.name, call.outcome_requests + 1)

    async def _resumed(self, call: CallState) -> ToolFinished:
        outcomes = self._state.outcomes(call)
        if outcomes is None:
            raise ValueError(f"call {call.call_id} was resumed with open waits")
        done = self._toolbox.resume(call.call, outcomes)
        done = await self._toolbox.store_from_loop(call.call_id, call.call.name, done)
        effect = self._toolbox.effect(call.call.name)
        return ToolFinished(
            call.call_id,
            done.status,
            done.content,
            effect,
            artifact=done.artifact,
            images=done.images,
        )

    async def _begin(self, call: CallState) -> Served | _Act:
        approved: ApprovedCall | None = None
        if call.approval_request is not None:
            decision = self._state.decision(call.approval_request)
            if decision is None:
                raise ValueError(f"call {call.call_id} was resumed without a decision")
            if decision.value["status"] not in _ALLOWING:
                return denied(call, decision)
            if await self._lapsed(call, call.approval_request.key):
                return await self._begin(call)
            approved = ApprovedCall(decision.value["digest"], decision.value["arguments"])
        reply = self._reply(call) if call.questions else None
        ready = await self._toolbox.prepare(call.call_id, call.call, approved, reply)
        effect = self._toolbox.effect(call.call.name)
        match ready:
            case ToolResult():
                return ToolFinished(call.call_id, ready.status, ready.content, effect)
            case ApprovalRequested():
                return replace(ready, question=call.lapsed_decisions + 1)
        return _Act(call, ready, effect)

    def _reply(self, call: CallState) -> QuestionReply:
        """Return the reply to the last question of a call."""
        outcomes = self._state.outcomes(call)
        if outcomes is None:
            raise ValueError(f"call {call.call_id} was resumed without a reply")
        value = outcomes[0].value
        return QuestionReply(
            call.questions, call.question_state, value["status"], value.get("answer")
        )

    async def _act(self, act: _Act, batch: CallBatch | None) -> Served:
        """Run one call; return None if its result is journaled already."""
        if self._toolbox.is_script(act.ready):
            return await advance(self._state, self._definition, self._toolbox, act.call, act.ready)
        if act.effect == Effect.PURE:
            return await self._execute(act, None)
        if act.effect != Effect.TRANSACTIONAL:
            await self._gate.wait_until_alive()
            connected = await self._toolbox.connect(act.ready)
            if isinstance(connected, ToolResult):
                failed = connected.status, connected.content
                return ToolFinished(act.call.call_id, *failed, act.effect)
            act = replace(act, ready=connected)
        async with self._gate.effect():
            if act.effect == Effect.TRANSACTIONAL:
                return await self._transact(act.call, act.ready)
            return await self._execute(act, batch)

    async def _lapsed(self, call: CallState, key: str) -> bool:
        """Return True, and journal it, if the approver has lost the right to decide."""
        lapsed = await self._toolbox.lapsed(call.call_id, key)
        if lapsed is None:
            return False
        await self._journaled.record(lapsed)
        return True

    async def _execute(self, act: _Act, batch: CallBatch | None) -> Served:
        call, ready, effect = act.call, act.ready, act.effect
        if batch is None or not self._toolbox.acts_in_thread(ready):
            batch = CallBatch(self._journaled, 1)
        name = ready.prepared.spec.name
        record = CallRecord(
            self._journaled,
            call.call_id,
            effect,
            grant=ready.grant,
            batch=batch,
            store=partial(self._toolbox.store, call.call_id, name),
        )
        try:
            done = await self._toolbox.execute(ready, record)
        except CancelledFirstError:
            return ToolFinished(call.call_id, "refused", CANCELLED_FIRST, effect)
        if isinstance(done, SuspendedCall):
            kind = done.suspension.kind
            if is_for_tools(kind):
                return PendingSuspension(call.call_id, done.suspension, call.questions + 1)
            done = ToolResult(f"There is no kind of wait {kind!r} for tools: declare it.", "error")
        if record.is_settled:
            return None
        event = record.finished(await self._toolbox.store_from_loop(call.call_id, name, done))
        if effect == Effect.PURE:
            return event  # journaled with its turn's other results
        await self._journaled.record(event)
        return None

    async def _transact(self, call: CallState, ready: ReadyCall) -> ToolFinished | None:
        limit = ready.prepared.timeout_seconds
        body = self._toolbox.transaction(call.call_id, ready)
        await self._journaled.transact(body, timeout_seconds=limit)
        if call.finished is not None or self._state.calls.get(call.call_id) is not call:
            return None  # it is journaled
        if self._state.cancel_reason is not None:
            return ToolFinished(call.call_id, "refused", CANCELLED_FIRST, Effect.TRANSACTIONAL)
        return ToolFinished(
            call.call_id,
            "timeout",
            f"{call.call.name} did not finish within {limit:g} s; nothing it did was kept.",
            Effect.TRANSACTIONAL,
        )
