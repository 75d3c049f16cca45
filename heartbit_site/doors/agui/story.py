"""Story of a run as events of AG-UI: text, calls, and steps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from agents.journal.events import (
    Event,
    ModelAnswered,
    RunCreated,
    RunSucceeded,
    ToolFinished,
)
from agents.live.updates import DeltaUpdate, EventUpdate, ProgressUpdate, Update
from agents.output import respond
from agents.workflows.events import GraphCommitted
from heartbit_site.doors.client_tools import call_id_of
from heartbit_site.doors.spoken import SpokenText

AgEvent = dict[str, Any]


def encoded(event: AgEvent) -> bytes:
    """Return an event as a server-sent one."""
    return f"data: {json.dumps(event, separators=(',', ':'))}\n\n".encode()


def custom(name: str, value: Any) -> AgEvent:
    """Return an event of Heartbit's own."""
    return {"type": "CUSTOM", "name": f"heartbit.{name}", "value": value}


class Story:
    """Events of one run, from its updates; those of other runs of the tree say nothing.

    Args:
        run_id: The run.
        after: Sequence number of the last event that the client has.

    Attributes:
        seq: Sequence number of the last event that was read.
    """

    def __init__(self, run_id: UUID, *, after: int) -> None:
        self._run_id, self._after = run_id, after
        self._said = SpokenText(run_id, after=after)
        self._turn = 0
        self._step = ""
        self._message = ""  # the open one
        self._ended: set[str] = set()
        self._client_tools: set[str] = set()
        self._tools: dict[str, str] = {}  # by call id
        self.seq = 0

    def take(self, update: Update) -> Iterator[AgEvent]:
        """Yield the events that an update gives; often none."""
        if update.run_id != self._run_id:
            return
        text = self._said.take(update)
        if isinstance(update, DeltaUpdate) and text:
            yield from self._say(text, update.delta.turn)
        elif isinstance(update, ProgressUpdate):
            call_id = call_id_of(self._run_id, update.progress.call_id)
            yield custom("progress", {"toolCallId": call_id, "text": update.progress.text})
        elif isinstance(update, EventUpdate):
            self.seq = update.recorded.seq
            self._learn(update.recorded.event)
            if self.seq > self._after:
                yield from self._told(update.recorded.event, text)

    def end(self) -> Iterator[AgEvent]:
        """Yield the ends of what is open."""
        yield from self._end_message()
        if self._step:
            yield {"type": "STEP_FINISHED", "stepName": self._step}
            self._step = ""

    def _learn(self, event: Event) -> None:
        if isinstance(event, RunCreated):
            self._client_tools = {tool["name"] for tool in event.client_tools}
        elif isinstance(event, ModelAnswered):
            self._turn = event.turn
            for index, call in enumerate(event.message.tool_calls):
                self._tools[f"{event.turn}.{index}"] = call.name

    def _told(self, event: Event, text: str) -> Iterator[AgEvent]:
        match event:
            case ModelAnswered():
                yield from self._begin(f"turn {event.turn}")
                if text:
                    yield from self._say(text, event.turn)
                yield from self._end_message()
                for index, call in enumerate(event.message.tool_calls):
                    if not self._has_result(call.name):
                        yield from self._called(f"{event.turn}.{index}", call.name, call.arguments)
            case ToolFinished():
                # The client has its own results; calls within a program were not told.
                name = self._tools.get(event.call_id)
                if name not in (None, *self._client_tools) and not self._has_result(name):
                    yield {
                        "type": "TOOL_CALL_RESULT",
                        "messageId": f"result_{self._run_id.hex}_{event.call_id}",
                        "toolCallId": call_id_of(self._run_id, event.call_id),
                        "content": event.content,
                    }
            case GraphCommitted():
                yield from self.end()
                if event.next:
                    yield from self._begin(f"superstep {event.superstep + 1}")
            case RunSucceeded() if text:
                yield from self._say(text, self._turn)

    def _has_result(self, tool: str | None) -> bool:
        """Return True if calls of a tool hold a result that people review first."""
        return self._said.is_reviewed and tool == respond.NAME

    def _called(self, call_id: str, name: str, arguments: str) -> Iterator[AgEvent]:
        place = {"toolCallId": call_id_of(self._run_id, call_id)}
        parent = f"msg_{self._run_id.hex}_{self._turn}"
        begun = {"toolCallName": name, "parentMessageId": parent}
        yield {"type": "TOOL_CALL_START", **place, **begun}
        yield {"type": "TOOL_CALL_ARGS", **place, "delta": arguments}
        yield {"type": "TOOL_CALL_END", **place}

    def _begin(self, step: str) -> Iterator[AgEvent]:
        if step != self._step:
            yield from self.end()
            self._step = step
            yield {"type": "STEP_STARTED", "stepName": step}

    def _say(self, text: str, turn: int) -> Iterator[AgEvent]:
        if turn:
            yield from self._begin(f"turn {turn}")
        if not self._message:
            text = text.removeprefix("\n\n")  # which parts it from the message before
            name = f"msg_{self._run_id.hex}_{turn}"
            # What follows an ended message of the turn is one of its own.
            while name in self._ended:
                name += "_more"
            self._message = name
            yield {"type": "TEXT_MESSAGE_START", "messageId": name, "role": "assistant"}
        yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": self._message, "delta": text}

    def _end_message(self) -> Iterator[AgEvent]:
        if self._message:
            yield {"type": "TEXT_MESSAGE_END", "messageId": self._message}
            self._ended.add(self._message)
            self._message = ""
