"""Spans of a run, from its journal. Pure.

A span exists once its end is journaled, and has the times of the journal. So it does not matter how
often, and on which machines, the run was resumed: each slice exports the spans that ended since the
last write of the slice before it, and nothing twice::

    spans = journal_spans(run, events, started_seq=9, last_seq=17)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from agents.tracing import names
from heartbit_site.base import tracing

Kind = Literal["internal", "client", "consumer", "server"]

#: Events that other processes append to a run that waits or has lost its worker.
_BY_OTHERS: Final = {
    "wait.resolved",
    "run.steered",
    "run.cancel_requested",
    "approval.escalated",
    "run.quarantined",
    "run.unquarantined",
    "run.discarded",
}
#: Reasons of a requeue after which the slice before it has exported nothing.
_LOST: Final = {"worker lost", "claimed but not executed", "no checkpoint"}
_CLOSING: Final = {
    "run.succeeded": "succeeded",
    "run.failed": "failed",
    "run.cancelled": "cancelled",
    "run.quarantined": "quarantined",
    "run.discarded": "discarded",
}


@dataclass(frozen=True, slots=True)
class JournalEvent:
    """An event as it is stored."""

    seq: int
    at: datetime
    type: str
    payload: dict[str, Any]


@dataclass(frozen=True, slots=True)
class TracedRun:
    """A run, with what its spans name.

    Attributes:
        above: Id of the span above the root of its tree; empty: none.
    """

    trace_id: str
    above: str
    id: str
    is_child: bool
    kind: str
    agent: str
    queue: str
    workspace_id: int
    conversation: str | None = None


@dataclass(frozen=True, slots=True)
class EndedSpan:
    """A span that has ended.

    Attributes:
        parent: Id of its parent; empty: it is the first of its trace.
        error: Type of its error; empty: none.
    """

    trace_id: str
    id: str
    parent: str
    name: str
    kind: Kind
    start: datetime
    end: datetime
    attributes: dict[str, Any]
    error: str = ""


@dataclass(frozen=True, slots=True)
class _Wait:
    begun: datetime
    kind: str
    call_id: str = ""
    child: str = ""


@dataclass(slots=True)
class _Reader:
    """Reader of a journal, event by event, in order.

    Attributes:
        found: Spans, each with the sequence number of the event that ends it.
        tools: Names of tools by the id of the call.
        begun: Times at which open calls began.
        attempts: Numbers of finished attempts, by call.
        slice: Id of the span of the current slice.
    """

    run: TracedRun
    found: list[tuple[int, EndedSpan]] = field(default_factory=list)
    tools: dict[str, str] = field(default_factory=dict)
    begun: dict[str, datetime] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=dict)
    waits: dict[str, _Wait] = field(default_factory=dict)
    slice: str = ""
    created: datetime | None = None
    queued: datetime | None = None
    closed: bool = False

    def read(self, event: JournalEvent) -> None:
        """Take an event into account."""
        reading = _READINGS.get(event.type)
        if reading is not None:
            reading(self, event)

    def add(
        self, seq: int, name: str, kind: Kind, *, named: tuple[str, dict[str, Any]], **place: Any
    ) -> None:
        """Add a span of the run, by its name among them; by default the run's is its parent."""
        run, (title, attributes) = self.run, named
        place.setdefault("id", tracing.span_id(run.id, name))
        place.setdefault("parent", tracing.span_id(run.id, tracing.RUN))
        ids = {names.RUN_ID: run.id, names.WORKSPACE_ID: run.workspace_id}
        span = EndedSpan(run.trace_id, name=title, kind=kind, attributes=ids | attributes, **place)
        self.found.append((seq, span))

    def call_span(self, call_id: str) -> str:
        """Return the id of the span of a call's current attempt."""
        attempt = self.attempts.get(call_id, 0) + 1
        return tracing.span_id(self.run.id, tracing.call(call_id, attempt))

    def create(self, event: JournalEvent) -> None:
        """Begin the run; of a fork begin it again, after the events of its source."""
        self.created = self.queued = event.at
        self.begun.clear()
        self.found.clear()
        if event.payload.get("call"):
            self.tools["0.0"] = event.payload["call"]["name"]

    def start(self, event: JournalEvent) -> None:
        """End the run's time in its queue, and begin a slice."""
        self.slice = tracing.span_id(self.run.id, f"slice:{event.seq}")
        queued = names.queueing(self.run.queue)
        times = {"start": self.queued or event.at, "end": event.at}
        self.add(event.seq, f"queue:{event.seq}", "consumer", named=queued, **times)

    def requeue(self, event: JournalEvent) -> None:
        """Begin the run's time in its queue."""
        self.queued = event.at

    def model(self, event: JournalEvent) -> None:
        """End a model call, and learn the names of the tools that its answer calls."""
        payload = event.payload
        named = names.model_call(payload)
        error = "interrupted" if event.type == "model.interrupted" else ""
        times = _lasting(event, payload.get("duration_ms", 0))
        place = {"parent": self.slice, "error": error, **times}
        self.add(event.seq, f"model:{event.seq}", "client", named=named, **place)
        for n, call in enumerate((payload.get("message") or {}).get("tool_calls", ())):
            self.tools[f"{payload['turn']}.{n}"] = call["name"]

    def name_script_calls(self, event: JournalEvent) -> None:
        """Learn the names of the tools that a script calls."""
        payload = event.payload
        for n, call in enumerate(payload["calls"]):
            self.tools[f"{payload['call_id']}.{payload['first'] + n}"] = call["name"]

    def begin_call(self, event: JournalEvent) -> None:
        """Begin a call whose intent is journaled."""
        self.begun.setdefault(event.payload["call_id"], event.at)

    def finish_tool(self, event: JournalEvent) -> None:
        """End a tool call."""
        call_id, status = event.payload["call_id"], event.payload["status"]
        tool = self.tools.get(call_id, "tool")
        named = names.tool_call(tool, call_id, event.payload)
        self._finish(event, named, "" if status == "ok" else status)

    def finish_node(self, event: JournalEvent) -> None:
        """End an attempt of a workflow's node."""
        payload = event.payload
        named = names.node(payload["node"], payload.get("attempt", 1))
        self._finish(event, named, "node_error" if payload.get("status") == "error" else "")

    def _finish(self, event: JournalEvent, named: tuple[str, dict[str, Any]], error: str) -> None:
        call_id = event.payload["call_id"]
        times = _lasting(event, event.payload.get("duration_ms", 0))
        times["start"] = min(times["start"], self.begun.pop(call_id, times["start"]))
        place: dict[str, Any] = {"id": self.call_span(call_id), "error": error, **times}
        script, _, _ = call_id.rpartition(".")
        if script in self.tools:
            place["parent"] = self.call_span(script)
        self.add(event.seq, "", "internal", named=named, **place)
        self.attempts[call_id] = self.attempts.get(call_id, 0) + 1

    def wait_for_call(self, event: JournalEvent) -> None:
        """Begin the waits of a call."""
        payload = event.payload
        self.begin_call(event)
        for n, key in enumerate(payload["keys"]):
            child = payload["runs"][n] if n < len(payload["runs"]) else ""
            self.waits[key] = _Wait(event.at, payload["kind"], payload["call_id"], child)

    def wait_for_person(self, event: JournalEvent) -> None:
        """Begin to wait for a decision, or for the outcome of a call."""
        self.begin_call(event)
        kind, call_id = event.type.partition(".")[0], event.payload["call_id"]
        self.waits[f"{kind}:{call_id}"] = _Wait(event.at, kind, call_id)

    def wait_for_child(self, event: JournalEvent) -> None:
        """Begin to wait for a child that no call started."""
        self.waits[event.payload["key"]] = _Wait(event.at, "child", child=event.payload["run"])

    def pause(self, event: JournalEvent) -> None:
        """Begin a pause."""
        self.waits[event.payload["key"]] = _Wait(event.at, "pause")

    def resolve(self, event: JournalEvent) -> None:
        """End a wait; the keys of some have a number at their end."""
        self.queued = event.at
        key = event.payload["key"]
        wait = self.waits.pop(key, None) or self.waits.pop(key.rpartition(":")[0], None)
        if wait is None:
            return
        place: dict[str, Any] = {"start": wait.begun, "end": event.at}
        if wait.child:
            place["id"] = tracing.span_id(wait.child, tracing.AWAITED)
        if wait.call_id:
            place["parent"] = self.call_span(wait.call_id)
        named = (f"wait for {wait.kind}", {"heartbit.wait.kind": wait.kind})
        self.add(event.seq, f"wait:{key}", "internal", named=named, **place)

    def close(self, event: JournalEvent) -> None:
        """End the run."""
        run, status = self.run, _CLOSING[event.type]
        named = names.run(run.kind, run.agent, status, run.conversation)
        parent = run.above
        if run.is_child:
            parent = tracing.span_id(run.id, tracing.AWAITED)
        place: dict[str, Any] = {"start": self.created or event.at, "end": event.at}
        place["parent"] = parent
        if self.closed:  # a quarantined run has continued, whose span is exported
            del place["parent"]
        name = f"{tracing.RUN}:{event.seq}" if self.closed else tracing.RUN
        place["error"] = "" if status == "succeeded" else event.payload.get("kind") or status
        self.add(event.seq, name, "internal", named=named, **place)
        self.closed = True


_READINGS: Final[dict[str, Callable[[_Reader, JournalEvent], None]]] = {
    "run.created": _Reader.create,
    "run.forked": _Reader.create,
    "run.started": _Reader.start,
    "run.requeued": _Reader.requeue,
    "run.paused": _Reader.pause,
    "model.answered": _Reader.model,
    "model.interrupted": _Reader.model,
    "model.delayed": _Reader.pause,
    "context.summarized": _Reader.model,
    "script.called": _Reader.name_script_calls,
    "tool.started": _Reader.begin_call,
    "tool.finished": _Reader.finish_tool,
    "node.finished": _Reader.finish_node,
    "call.waiting": _Reader.wait_for_call,
    "approval.requested": _Reader.wait_for_person,
    "outcome.requested": _Reader.wait_for_person,
    "child.started": _Reader.wait_for_child,
    "wait.resolved": _Reader.resolve,
    **dict.fromkeys(_CLOSING, _Reader.close),
}


@dataclass(slots=True)
class _Slice:
    """A slice, with the last event that it wrote itself."""

    begin: int
    start: datetime
    last: int
    end: datetime
    is_lost: bool = False


def journal_spans(
    run: TracedRun, events: Sequence[JournalEvent], *, started_seq: int, last_seq: int
) -> list[EndedSpan]:
    """Return the spans that a slice exports.

    Args:
        run: The run.
        events: Its whole journal.
        started_seq: Sequence number of the event that began the slice; 0: no slice has ended the
            run, and what has ended since the last one is exported.
        last_seq: Sequence number of the last event that the slice knows.
    """
    known = [event for event in events if event.seq <= last_seq]
    reader = _Reader(run)
    for event in known:
        reader.read(event)
    forked = max((event.seq for event in known if event.type == "run.forked"), default=0)
    slices = [one for one in _slices(known, is_slice=started_seq > 0) if one.begin > forked]
    exported = [one.last for one in slices if not one.is_lost and one.begin != started_seq]
    # A quarantine is exported when it begins, with the slice whose worker was lost.
    exported += [event.seq for event in known if event.type == "run.quarantined"]
    if known and known[-1].type == "run.quarantined":
        exported.pop()
    after = max(exported, default=forked)
    for one in slices:
        if one.begin > after:
            error = "worker_lost" if one.is_lost else ""
            place = {"start": one.start, "end": one.end, "error": error}
            name = f"slice:{one.begin}"
            reader.add(one.last, name, "internal", named=("slice", {}), **place)
    return [span for seq, span in reader.found if seq > after]


def _slices(events: Sequence[JournalEvent], *, is_slice: bool) -> list[_Slice]:
    found: list[_Slice] = []
    for event in events:
        if event.type == "run.started":
            found.append(_Slice(event.seq, event.at, event.seq, event.at))
        elif not found:
            continue
        elif event.type == "run.quarantined":
            found[-1].is_lost = True
        elif event.type in _BY_OTHERS:
            continue
        elif event.type == "run.requeued" and event.payload.get("reason") in _LOST:
            found[-1].is_lost = True
        elif is_slice or event.type not in _CLOSING:
            found[-1].last, found[-1].end = event.seq, event.at
    return found


def _lasting(event: JournalEvent, milliseconds: int) -> dict[str, datetime]:
    """Return the times of what ended with an event."""
    return {"start": event.at - timedelta(milliseconds=milliseconds), "end": event.at}
