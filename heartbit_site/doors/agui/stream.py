"""Stream of a run: its events until it ends, or waits for people or for its client."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from functools import partial
from typing import Any, Final
from uuid import UUID

from agents.journal.events import (
    ApprovalRequested,
    CallWaiting,
    Closing,
    OutcomeRequested,
    ToolFinished,
)
from agents.journal.waits import EXTERNAL, kind_of
from agents.live.updates import EventUpdate, Update
from agents.reads.outcome import Outcome, read_outcome
from heartbit_site.api.errors import problem_code
from heartbit_site.api.routes.events import BEAT
from heartbit_site.base import orm
from heartbit_site.base.errors import HeartbitError
from heartbit_site.doors.agui.begin import Begun
from heartbit_site.doors.agui.interrupts import Stop, interrupts_of, read_stop
from heartbit_site.doors.agui.requests import AgentInput
from heartbit_site.doors.agui.state import SharedState, read_state
from heartbit_site.doors.agui.story import AgEvent, Story, custom, encoded
from heartbit_site.doors.client_tools import call_id_of
from heartbit_site.doors.runs import updates_of

logger = logging.getLogger("django.request")

PROTOCOL_VERSION: Final = "1.0"


async def refused(body: AgentInput, error: HeartbitError) -> AsyncIterator[bytes]:
    """Yield the stream of a request that was refused."""
    yield encoded(_started(body))
    yield encoded(_failed(str(error), problem_code(type(error))))


async def events_of(body: AgentInput, begun: Begun) -> AsyncIterator[bytes]:
    """Yield the stream of a run, with comments in silences."""
    yield encoded(_started(body, begun.run_id))
    for interrupt_id, sentence in begun.refused.items():
        value = {"interruptId": interrupt_id, "message": sentence}
        yield encoded(custom("answer_not_taken", value))
    told = _told(body, begun)
    try:
        async with contextlib.aclosing(told):
            async for event in told:
                yield BEAT if event is None else encoded(event)
    except Exception:
        logger.exception("the stream of run %s failed", begun.run_id)
        sentence = f"The stream failed; the run {begun.run_id} goes on: send the request again."
        yield encoded(_failed(sentence, "internal"))


async def _told(body: AgentInput, begun: Begun) -> AsyncGenerator[AgEvent | None, None]:
    run_id, stop = begun.run_id, None
    story, state = Story(run_id, after=begun.after), SharedState(body.state)
    is_asking = False
    async with contextlib.aclosing(updates_of(begun.access, run_id)) as news:
        async for updates in news:
            if not updates:
                yield None
            for update in updates:
                for event in story.take(update):
                    yield event
            if any(map(_may_change_state, updates)):
                for event in state.take(await orm.read_in_thread(partial(read_state, run_id))):
                    yield event
            is_asking = is_asking or any(map(_asks, updates))
            if is_asking:
                stop = await orm.read_in_thread(partial(read_stop, run_id))
                is_asking = stop is not None
                if stop is not None and stop.is_still and story.seq >= stop.seq:
                    break
    for event in story.end():
        yield event
    end = partial(_stopped, body, begun, stop) if is_asking and stop else None
    yield await orm.read_in_thread(end or partial(_ended, body, begun))


def _asks(update: Update) -> bool:
    """Return True if an update may have opened a wait for a person or the client."""
    if not isinstance(update, EventUpdate):
        return False
    event = update.recorded.event
    if isinstance(event, CallWaiting):
        return event.kind == EXTERNAL.name or kind_of(event.kind).asks_person
    return isinstance(event, ApprovalRequested | OutcomeRequested)


def _may_change_state(update: Update) -> bool:
    """Return True if the blackboard may differ after an update, of any run of the tree."""
    return isinstance(update, EventUpdate) and isinstance(
        update.recorded.event, ToolFinished | Closing
    )


def _started(body: AgentInput, run_id: UUID | None = None) -> AgEvent:
    found = {"type": "RUN_STARTED", **_place(body), "protocolVersion": PROTOCOL_VERSION}
    return found | ({"metadata": {"heartbit": {"run_id": str(run_id)}}} if run_id else {})


def _stopped(body: AgentInput, begun: Begun, stop: Stop) -> AgEvent:
    """Return the end of the stream of a run that waits. Blocks."""
    interrupts = interrupts_of(begun.access, begun.run_id, stop)
    if interrupts:
        return _finished(body, {"type": "interrupt", "interrupts": interrupts})
    calls = [call_id_of(begun.run_id, wait.call_id) for wait in stop.waits if wait.call_id]
    return _finished(body, {"type": "success", "pendingToolCallIds": calls})


def _ended(body: AgentInput, begun: Begun) -> AgEvent:
    """Return the end of the stream of a run that has ended. Blocks."""
    outcome = read_outcome(begun.run_id)
    usage = {} if begun.after else _usage(outcome)  # only a whole run's is known
    result = outcome.result
    if outcome.status == "cancelled":
        return _finished(body, {"type": "cancelled"}) | usage
    if result is None or outcome.status != "succeeded":
        kind = outcome.error.get("kind") if isinstance(outcome.error, dict) else None
        sentence = str(result.error) if result is not None else "The run has not ended."
        return _failed(sentence, str(kind or f"run_{outcome.status}")) | usage
    value = result.text if result.structured is None else result.structured
    return {**_finished(body, {"type": "success"}), "result": value, **usage}


def _usage(outcome: Outcome) -> AgEvent:
    sent, got = outcome.metrics.input_tokens, outcome.metrics.output_tokens
    return {"usage": [{"inputTokens": sent, "outputTokens": got, "totalTokens": sent + got}]}


def _finished(body: AgentInput, outcome: AgEvent) -> AgEvent:
    return {"type": "RUN_FINISHED", **_place(body), "outcome": outcome}


def _failed(sentence: str, code: str) -> AgEvent:
    return {"type": "RUN_ERROR", "message": sentence, "code": code}


def _place(body: AgentInput) -> dict[str, Any]:
    return {"threadId": body.thread_id, "runId": body.run_id}
