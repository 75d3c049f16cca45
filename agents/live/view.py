"""View of a run: the one fold of its journal and its streamed text. Pure.

    changed = view.fold(recorded)  # or view.stream(delta)

``changed`` has the changed parts of the run's view, as JSON: a page keeps the parts by name and
needs no fold of its own. None: the update was known already.

An event's parts depend only on the journal up to it, so they are equal for every reader::

    {"run": {"status": "running", ...}, "turn 1": {...}, "call 1.0": {...}, "note 7": {...},
     "time 3": {"kind": "queue", "from": 1764..., "to": null, ...}, "time 2": null}

A part that is null is removed. Times are milliseconds since 1970. A delta's change is like
``{"kind": "text", "at": 12, "text": "...", "fresh": false, "gap": false, "doing": ...}``;
``at`` counts UTF-16 units, as browsers do; ``fresh`` discards the text so far. ``doing`` describes
the run's current activity, as in the part ``run``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from functools import singledispatchmethod
from typing import TYPE_CHECKING, Any, Final

from agents.journal import events
from agents.journal.waits import APPROVAL, CHILD, OUTCOME, PAUSE, TIMER, WaitKind, kind_of
from agents.live.activity import activity, heading
from agents.live.call_view import OPEN, CallView
from agents.live.timeline import Parts, Timeline, to_ms
from agents.live.words import say
from agents.live.writing import Writing

if TYPE_CHECKING:
    from uuid import UUID

    from agents.llm.messages import ToolCall
    from agents.runs.live_entries import Delta, DeltaKind, Progress

#: Equal to agents.choices.TERMINAL, which needs Django.
TERMINAL: Final = frozenset({"succeeded", "failed", "cancelled", "quarantined"})
#: Events of the conversation: the latest becomes the run's remark.
_REMARKS: Final = (
    events.RunForked,
    events.ModelInterrupted,
    events.ContextSummarized,
    events.RunSteered,
    events.RunUnquarantined,
)
#: Events shown between the turns.
_NOTES: Final = (
    *_REMARKS,
    events.MemoriesRecalled,
    events.MemoriesExtracted,
    events.RunRequeued,
    events.ModelDelayed,
    events.RunPaused,
    events.ApprovalEscalated,
    events.ApprovalLapsed,
    events.CancelRequested,
    events.RunDiscarded,
)


@dataclass(slots=True)
class RunView:
    """View of one run.

    Attributes:
        run_kind: Name of the engine that executes the run.
        seq: Last event folded.
        writing: Model call in flight.
        waits: Open waits, by key.
        pause: Reason for waiting for a point in time, and that time.
        remark: Latest event of the conversation, such as a message from a person.
        ending: Terminal status with the answer or the error.
    """

    run_id: UUID
    parent_id: UUID | None
    agent: str
    task: str
    model: str = ""
    worker: str = ""
    sandbox: str = ""
    run_kind: str = "agent"
    status: str = "queued"
    seq: int = 0
    turn: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: Decimal = Decimal(0)
    priced: bool = True
    writing: Writing = field(default_factory=Writing)
    calls: dict[str, CallView] = field(default_factory=dict)
    waits: dict[str, Parts] = field(default_factory=dict)
    pause: tuple[str, datetime] | None = None
    remark: str = ""
    cancelling: bool = False
    problem: str = ""
    ending: Parts | None = None
    created_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    _last_at: datetime | None = None
    _kept: dict[str, Parts] = field(default_factory=dict)
    _times: Timeline = field(default_factory=Timeline)
    _asked: dict[str, str] = field(default_factory=dict)
    _changed: dict[str, None] = field(default_factory=dict)

    @property
    def over(self) -> bool:
        """True once the run has ended."""
        return self.status in TERMINAL

    @property
    def text(self) -> str:
        """Text or thinking of the model call in flight, so far."""
        written = self.writing
        if written.turn <= self.turn or self.status != "running":
            return ""  # the call was answered or abandoned
        return written.thinking if written.kind == "thinking" else written.text

    @property
    def kind(self) -> DeltaKind:
        """Kind of the streamed text: ``text`` or ``thinking``."""
        return self.writing.kind

    @property
    def open_calls(self) -> list[CallView]:
        """Calls that run or are about to run."""
        return [call for call in self.calls.values() if call.status in OPEN]

    def name_of(self, call_id: str) -> str:
        """Return the name of a call as ``agents.live.words`` uses it."""
        call = self.calls.get(call_id)
        return call.name if call is not None else ""

    def elapsed(self, now: datetime) -> float:
        """Return the seconds since the run was first started."""
        if self.started_at is None:
            return 0.0
        return max(0.0, ((self.finished_at or now) - self.started_at).total_seconds())

    def snapshot(self) -> Parts:
        """Return all parts of the view, without the text of a model call in flight."""
        names = ["run", *(f"call {call_id}" for call_id in self.calls), *self._kept]
        return {name: self._part(name) for name in names} | self._times.parts

    def stream(self, delta: Delta) -> Parts | None:
        """Apply a piece of the model call in flight; None if known or of an earlier call."""
        part = None if delta.turn <= self.turn else self.writing.add(delta)
        return part and {**part, "doing": heading(activity(self, delta.kind))}

    def progress(self, said: Progress) -> Parts | None:
        """Show what a running call says it has done; None if the call is over or not known."""
        call = self.calls.get(said.call_id)
        if call is None or call.over or call.progress == said.text:
            return None
        call.progress = said.text
        return {f"call {said.call_id}": call.part()}

    def fold(self, recorded: events.RecordedEvent) -> Parts | None:
        """Apply an event of the journal; return the changed parts, or None if it is known."""
        if recorded.seq <= self.seq:
            return None
        event, at = recorded.event, recorded.at
        self.seq = recorded.seq
        self.created_at = self.created_at or at
        before = activity(self)
        self._changed.clear()
        self._times.changed.clear()
        self._fold(event, at)
        if isinstance(event, _NOTES):
            self._note(event, at)
        self._last_at = at
        if activity(self) != before:
            self._changed["run"] = None
        return {name: self._part(name) for name in self._changed} | self._times.changed

    def _part(self, name: str) -> Parts | None:
        if name == "run":
            return self._figures()
        kind, _, which = name.partition(" ")
        return self.calls[which].part() if kind == "call" else self._kept.get(name)

    def _figures(self) -> Parts:
        return {
            "status": self.status,
            "kind": self.run_kind,
            "doing": heading(activity(self)),
            "worker": self.worker,
            "sandbox": self.sandbox,
            "model": self.model,
            "began": to_ms(self.created_at) if self.created_at else None,
            "ended": to_ms(self.finished_at) if self.finished_at else None,
            "input": self.input_tokens,
            "output": self.output_tokens,
            "cached": self.cached_tokens,
            "cost": str(self.cost),
            "priced": self.priced,
            "stopping": self.cancelling,
            "waits": [{"key": key, **wait} for key, wait in self.waits.items()],
            "ending": self.ending,
        }

    def _keep(self, name: str, part: Parts) -> None:
        self._kept[name] = part
        self._changed[name] = None

    def _note(self, event: Any, at: datetime) -> None:
        said = say(event, self.name_of)
        text = "" if isinstance(event, (events.ContextSummarized, events.RunForked)) else said.text
        if isinstance(event, _REMARKS):
            self.remark = f"{said.title}: {text}" if text else said.title
        note: Parts = {"title": said.heading, "text": text, "icon": said.icon, "tone": said.tone}
        note |= {"seq": self.seq, "at": to_ms(at), "about": None, "who": None}
        if isinstance(event, events.RunForked):
            note["about"] = event.source
        elif isinstance(event, events.RunSteered):
            note["who"] = event.by
        self._keep(f"note {self.seq}", note)

    @singledispatchmethod
    def _fold(self, event: Any, at: datetime) -> None:
        """Ignore an event that changes nothing but the journal."""

    @_fold.register
    def _(self, event: events.RunCreated, at: datetime) -> None:
        self.created_at, self.run_kind = at, event.kind
        if event.call is not None:
            self._keep("turn 0", self._turn(0, (event.call,), at))
        self._queue(at)

    @_fold.register
    def _(self, event: events.RunForked, at: datetime) -> None:
        # Earlier events are the source run's: its waits, times and usage do not count here.
        self.created_at, self.started_at, self.pause, self.cancelling = at, None, None, False
        self.waits.clear()
        self.input_tokens = self.output_tokens = self.cached_tokens = 0
        self.cost, self.priced = Decimal(0), True
        self._times.clear()
        self._queue(at)

    @_fold.register
    def _(self, event: events.RunStarted, at: datetime) -> None:
        self._times.close("queue", at)
        self._set("running")
        self.worker, self.model, self.sandbox = event.worker, event.model, event.sandbox
        self.started_at = self.started_at or at

    @_fold.register
    def _(self, event: events.RunRequeued, at: datetime) -> None:
        self._queue(at)

    @_fold.register
    def _(self, event: events.ModelAnswered, at: datetime) -> None:
        self.turn, message = event.turn, event.message
        self._times.close("queue", at)
        if not self.waits:
            self.status = "running"
        self._spend(event)
        thoughts = [_thought(one.block) for one in message.thinking]
        # Streamed thinking that is not journaled stays on the pages that received it.
        thinking = {"thinking": "\n\n".join(filter(None, thoughts))} if any(thoughts) else {}
        turn = self._turn(event.turn, message.tool_calls, at) | {
            "text": message.text,
            "kept": bool(thinking),
            **thinking,
            "input": event.usage.input_tokens,
            "output": event.usage.output_tokens,
            "cost": event.cost_usd,
            "ms": event.duration_ms,
            "model": event.model,
            "finish": event.finish_reason,
        }
        self._keep(f"turn {event.turn}", turn)
        self._times.add("model", self.created_at, at, event.duration_ms, turn=event.turn)

    @_fold.register
    def _(self, event: events.ModelDelayed, at: datetime) -> None:
        self.pause = event.reason, at + timedelta(seconds=event.delay_seconds)
        self._wait(event.key, TIMER, at, reason=event.reason)

    @_fold.register
    def _(self, event: events.RunPaused, at: datetime) -> None:
        self.pause = event.reason, at + timedelta(seconds=event.delay_seconds)
        self._wait(event.key, PAUSE, at, reason=event.reason)

    @_fold.register
    def _(self, event: events.ChildStarted, at: datetime) -> None:
        self._wait(event.key, CHILD, at, run=event.run, agent=event.agent)

    @_fold.register
    def _(self, event: events.ModelInterrupted, at: datetime) -> None:
        self._spend(event)
        self._times.add("model", self.created_at, at, event.duration_ms, name="cut off")

    @_fold.register
    def _(self, event: events.ContextSummarized, at: datetime) -> None:
        self._spend(event)
        self._times.add("model", self.created_at, at, event.duration_ms, name="summary")

    @_fold.register
    def _(self, event: events.ApprovalRequested, at: datetime) -> None:
        call = self._call(event.call_id)
        call.status, call.asked, call.decision = "waiting", True, None
        call.effect, call.reason = event.effect, event.reason
        self._wait(event.key, APPROVAL, at, call=event.call_id)

    @_fold.register
    def _(self, event: events.ApprovalEscalated, at: datetime) -> None:
        if event.key in self.waits:
            self.waits[event.key]["escalated"] = True
            self._changed["run"] = None

    @_fold.register
    def _(self, event: events.ApprovalLapsed, at: datetime) -> None:
        self._call(event.call_id).decision = None

    @_fold.register
    def _(self, event: events.OutcomeRequested, at: datetime) -> None:
        call = self._call(event.call_id)
        call.status, call.doubt = "uncertain", True
        self._wait(event.key, OUTCOME, at, call=event.call_id)

    @_fold.register
    def _(self, event: events.ToolStarted, at: datetime) -> None:
        call = self._call(event.call_id)
        call.status, call.effect = "running", event.effect

    @_fold.register
    def _(self, event: events.ToolFinished, at: datetime) -> None:
        call = self._call(event.call_id)
        call.status, call.result = event.status, event.content
        call.duration_ms, call.grant = event.duration_ms, event.grant
        call.effect = event.effect or call.effect
        call.asked = call.doubt = False
        if not call.children:
            self._times.add("tool", self.created_at, at, event.duration_ms, call=event.call_id)

    @_fold.register
    def _(self, event: events.ScriptCalled, at: datetime) -> None:
        self._call(event.call_id).status = "running"
        for call_id, call in zip(event.call_ids, event.calls, strict=True):
            self.calls[call_id] = CallView(call_id, call.name, call.arguments, event.call_id)
            self._changed[f"call {call_id}"] = None
        number = event.call_id.partition(".")[0]
        if turn := self._kept.get(f"turn {number}"):
            self._keep(f"turn {number}", {**turn, "calls": _after(turn["calls"], event)})

    @_fold.register
    def _(self, event: events.CallWaiting, at: datetime) -> None:
        call = self._call(event.call_id)
        kind = kind_of(event.kind)
        call.status, call.asked, call.children = "waiting", kind.asks_person, list(event.runs)
        if kind.asks_person:
            call.decision = None
        runs = dict(zip(event.keys, event.runs, strict=False))
        for key in event.keys:
            child = {"run": runs[key]} if key in runs else {}
            self._wait(key, kind, at, call=event.call_id, **child)

    @_fold.register
    def _(self, event: events.WaitResolved, at: datetime) -> None:
        self.waits.pop(event.key, None)
        self.pause = None
        self._times.close(event.key, at)
        self._changed["run"] = None
        call = self.asked_by(event.key)
        if call is not None:
            call.asked, call.doubt, call.status = False, False, "pending"
            call.decision = {**event.value, "at": to_ms(at)}
            self._changed[f"call {call.call_id}"] = None
        if not self.waits and self.status == "waiting":
            self._queue(at)

    @_fold.register
    def _(self, event: events.CancelRequested, at: datetime) -> None:
        self.cancelling = True
        self._changed["run"] = None

    @_fold.register
    def _(self, event: events.RunSucceeded, at: datetime) -> None:
        more = {"finish_reason": event.finish_reason, "structured": event.structured}
        self._end("succeeded", at, text=event.output, **more)

    @_fold.register
    def _(self, event: events.RunFailed, at: datetime) -> None:
        self._end("failed", at, event.message, text=event.partial, limit=event.limit)

    @_fold.register
    def _(self, event: events.RunCancelled, at: datetime) -> None:
        problem = f"cancelled: {event.reason}" if event.reason else "cancelled"
        self._end("cancelled", at, problem, text=event.partial)

    @_fold.register
    def _(self, event: events.RunQuarantined, at: datetime) -> None:
        self._end("quarantined", at, say(event, str).text)

    @_fold.register
    def _(self, event: events.RunUnquarantined, at: datetime) -> None:
        self.finished_at, self.problem, self.ending = None, "", None
        self._queue(at)

    @_fold.register
    def _(self, event: events.RunDiscarded, at: datetime) -> None:
        self._end("cancelled", at, say(event, str).title)

    def asked_by(self, key: str) -> CallView | None:
        """Return the call about which a wait, open or resolved, asks a person."""
        return self.calls.get(self._asked.get(key, ""))

    def _call(self, call_id: str) -> CallView:
        """Return a call and mark it as changed."""
        self._changed[f"call {call_id}"] = None
        return self.calls.setdefault(call_id, CallView(call_id, "", "{}"))

    def _set(self, status: str) -> None:
        self.status = status
        self._changed["run"] = None

    def _queue(self, at: datetime) -> None:
        self._set("queued")
        self._times.open("queue", "queue", at)

    def _wait(self, key: str, kind: WaitKind, at: datetime, **more: Any) -> None:
        self._set("waiting")
        self.waits[key] = {"kind": kind.lane, "for": kind.waits_for, **more}
        if kind.asks_person:
            self._asked[key] = more.get("call", "")
        self._times.open(key, kind.lane, at, call=more.get("call"))

    def _turn(self, number: int, calls: tuple[ToolCall, ...], at: datetime) -> Parts:
        """Open a turn's calls and return its part; turn 0 is a call without a model."""
        names = [f"{number}.{index}" for index in range(len(calls))]
        for name, call in zip(names, calls, strict=True):
            self.calls[name] = CallView(name, call.name, call.arguments)
            self._changed[f"call {name}"] = None
        return {
            "number": number,
            "seq": self.seq,
            "at": to_ms(at),
            "answered": True,
            "gap": False,
            "text": "",
            "kept": False,
            "calls": names,
        }

    def _spend(
        self, event: events.ModelAnswered | events.ModelInterrupted | events.ContextSummarized
    ) -> None:
        self.input_tokens += event.usage.input_tokens
        self.output_tokens += event.usage.output_tokens
        self.cached_tokens += event.usage.cached_input_tokens
        if event.cost_usd is None:
            self.priced = False
        else:
            self.cost += Decimal(event.cost_usd)
        self._changed["run"] = None

    def _end(self, status: str, at: datetime, problem: str = "", **more: Any) -> None:
        if self.status == "running" and status != "succeeded" and self._last_at is not None:
            # The interrupted model or tool call has no event of its own.
            kind = "model" if self.run_kind == "agent" and not self.open_calls else "tool"
            self._times.add(kind, self.created_at, at, (at - self._last_at).total_seconds() * 1000)
        self._set(status)
        self.finished_at, self.problem, self.pause = at, problem, None
        message = heading(problem) if problem else None
        self.ending = {"status": status, "message": message, "text": "", **more}
        self.waits.clear()
        self._times.close_all(at)
        for call in self.calls.values():
            if call.status in (*OPEN, "waiting"):
                call.status = "cancelled"
                self._changed[f"call {call.call_id}"] = None
            call.asked = call.doubt = False


def _after(names: list[str], event: events.ScriptCalled) -> list[str]:
    """Return a turn's calls with those of a script after the call that runs it, in order."""
    own = [name for name in names if name.startswith(f"{event.call_id}.")]
    place = names.index(own[-1] if own else event.call_id) + 1
    return [*names[:place], *event.call_ids, *names[place:]]


def _thought(block: dict[str, Any]) -> str:
    """Return the readable text of a provider's thinking block."""
    summary = block.get("summary")
    if isinstance(summary, list):
        return "\n\n".join(str(part.get("text", "")) for part in summary)
    names = ("thinking", "text", "reasoning", "reasoning_content", "content")
    texts = (block.get(name) for name in names)
    return next((text for text in texts if isinstance(text, str)), "")
