"""A run as people see it: the one fold of its journal and of the text that streams. Pure.

    tree = Tree()
    async for update in follow(root_id, source):
        changed = tree.apply(update)

``changed`` has the parts of the run's view that the update changed, as JSON: a page keeps the parts
by name and needs no fold of its own. None: the update was known already.

An event's parts follow from the journal up to it and from nothing else, so they are the same for
every reader, whenever they came::

    {"run": {"status": "running", ...}, "turn 1": {...}, "call 1.0": {...}, "note 7": {...},
     "time 3": {"kind": "queue", "from": 1764..., "to": null, ...}, "time 2": null}

A part that is null is gone. Times are milliseconds since 1970. A delta's change says where its text
goes: ``{"kind": "text", "at": 12, "text": "...", "fresh": false, "gap": false}``; ``at`` counts
UTF-16 units, as browsers do, ``fresh`` voids what was written before.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from functools import singledispatchmethod
from typing import TYPE_CHECKING, Any, Final

from agents import events
from agents.live.updates import Happened, RunSeen, Streamed, Update
from agents.live.words import say
from agents.waits import APPROVAL, OUTCOME, TIMER, WaitKind, decision, kind_of

if TYPE_CHECKING:
    from uuid import UUID

    from agents.live.entries import Delta, DeltaKind

Parts = dict[str, Any]

#: As agents.choices.TERMINAL, which needs Django.
TERMINAL: Final = frozenset({"succeeded", "failed", "cancelled", "quarantined"})
_OPEN: Final = ("pending", "running")
_LONGEST: Final = 80  # characters of a call's arguments, in its name
#: Happen to the conversation: the last one of them is the run's remark.
_REMARKS: Final = (
    events.RunForked,
    events.ModelCut,
    events.ContextSummarized,
    events.RunSteered,
    events.RunRevived,
)
#: Stand between the turns.
_NOTES: Final = (
    *_REMARKS,
    events.RunRequeued,
    events.ModelDelayed,
    events.ApprovalEscalated,
    events.DecisionLapsed,
    events.CancelRequested,
    events.RunDiscarded,
)


@dataclass(slots=True)
class CallView:
    """One tool call.

    Attributes:
        arguments: What the model wrote.
        reason: Why a person is asked about it.
        asked: True while it waits for a person's decision.
        doubt: True while it waits for a person's word on its outcome.
        decision: What a person decided, as the wait's value has it, and when.
        children: The runs that it waits for.
        grant: The standing permission by which it ran.
    """

    call_id: str
    tool: str
    arguments: str
    status: str = "pending"
    effect: str = ""
    reason: str = ""
    asked: bool = False
    doubt: bool = False
    decision: dict[str, Any] | None = None
    children: list[str] = field(default_factory=list)
    result: str | None = None
    duration_ms: int = 0
    grant: int | None = None

    @property
    def over(self) -> bool:
        """True once it has a result."""
        return self.result is not None

    @property
    def decided(self) -> str:
        """What was decided and by whom, such as `approved by alice`."""
        return decision(self.decision) if self.decision else ""

    @property
    def runs_with(self) -> str:
        """The arguments that it runs with: what a person wrote, or the model."""
        return str((self.decision or {}).get("arguments") or self.arguments)

    @property
    def name(self) -> str:
        """Its tool with its arguments, briefly."""
        arguments = " ".join(brief_arguments(self).split())
        if len(arguments) > _LONGEST:
            arguments = f"{arguments[: _LONGEST - 1].rstrip()}…"
        return f"{self.tool} {arguments}" if arguments else self.tool


@dataclass(slots=True)
class Writing:
    """A model call under way.

    Attributes:
        next: The offset of the piece that comes next.
        kind: Of the last piece.
        gap: True if a piece was lost.
    """

    turn: int = 0
    attempt: int = 0
    next: int = 0
    kind: DeltaKind = "text"
    text: str = ""
    thinking: str = ""
    gap: bool = False


@dataclass(slots=True)
class RunView:
    """One run as its journal and its stream tell it.

    Attributes:
        seq: The last event folded.
        writing: The model call in flight.
        waits: Open waits, by key.
        pause: Why it waits for a point in time, and until when.
        remark: The last thing that happened to its conversation, such as a word of a person.
        ending: How it ended.
    """

    run_id: UUID
    parent_id: UUID | None
    agent: str
    task: str
    model: str = ""
    worker: str = ""
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
    _times: int = 0
    _open_times: dict[str, str] = field(default_factory=dict)
    _asked: dict[str, str] = field(default_factory=dict)
    _changed: dict[str, None] = field(default_factory=dict)

    @property
    def over(self) -> bool:
        """True once it has ended."""
        return self.status in TERMINAL

    @property
    def text(self) -> str:
        """What the model call in flight has said, or thought, so far."""
        written = self.writing
        if written.turn <= self.turn or self.status != "running":
            return ""  # of a call that was answered, or given up
        return written.thinking if written.kind == "thinking" else written.text

    @property
    def kind(self) -> DeltaKind:
        """Whether that is an answer or thinking."""
        return self.writing.kind

    @property
    def open_calls(self) -> list[CallView]:
        """Calls that run, or are about to."""
        return [call for call in self.calls.values() if call.status in _OPEN]

    def name_of(self, call_id: str) -> str:
        """Return a call as ``agents.live.words`` names it."""
        call = self.calls.get(call_id)
        return call.name if call is not None else ""

    def elapsed(self, now: datetime) -> float:
        """Seconds since it was first started."""
        if self.started_at is None:
            return 0.0
        return max(0.0, ((self.finished_at or now) - self.started_at).total_seconds())

    def snapshot(self) -> Parts:
        """All parts of the view, but for the text of a model call under way."""
        names = ["run", *(f"call {call_id}" for call_id in self.calls), *self._kept]
        return {name: self._part(name) for name in names}

    def stream(self, delta: Delta) -> Parts | None:
        """Take in a piece of the model call in flight; None if it is known, or of a former one."""
        writing, place = self.writing, (delta.turn, delta.attempt)
        if delta.turn <= self.turn or place < (writing.turn, writing.attempt):
            return None
        fresh = place != (writing.turn, writing.attempt)
        if fresh:
            writing = Writing(*place)
        piece = delta.text[max(0, writing.next - delta.offset) :]
        if not piece:
            return None
        gap = delta.offset > writing.next
        piece = f"…{piece}" if gap else piece
        self.writing = writing
        writing.kind, writing.gap = delta.kind, writing.gap or gap
        writing.next = delta.offset + len(delta.text)
        before = writing.thinking if delta.kind == "thinking" else writing.text
        if delta.kind == "thinking":
            writing.thinking += piece
        else:
            writing.text += piece
        at = len(before) + sum(character > "\uffff" for character in before)
        return {"kind": delta.kind, "at": at, "text": piece, "fresh": fresh, "gap": writing.gap}

    def fold(self, recorded: events.Recorded) -> Parts | None:
        """Take in an event of the journal; None if it is known."""
        if recorded.seq <= self.seq:
            return None
        event, at = recorded.event, recorded.at
        self.seq = recorded.seq
        self.created_at = self.created_at or at
        self._changed.clear()
        self._fold(event, at)
        if isinstance(event, _NOTES):
            self._note(event, at)
        self._last_at = at
        return {name: self._part(name) for name in self._changed}

    def _part(self, name: str) -> Parts | None:
        if name == "run":
            return self._figures()
        kind, _, which = name.partition(" ")
        return _call_part(self.calls[which]) if kind == "call" else self._kept.get(name)

    def _figures(self) -> Parts:
        return {
            "status": self.status,
            "worker": self.worker,
            "model": self.model,
            "began": _ms(self.created_at),
            "ended": _ms(self.finished_at),
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
        note |= {"seq": self.seq, "at": _ms(at), "about": None, "who": None}
        if isinstance(event, events.RunForked):
            note["about"] = event.source
        elif isinstance(event, events.RunSteered):
            note["who"] = event.by
        self._keep(f"note {self.seq}", note)

    @singledispatchmethod
    def _fold(self, event: Any, at: datetime) -> None:
        """Events that change nothing but the journal."""

    @_fold.register
    def _(self, event: events.RunCreated, at: datetime) -> None:
        self.created_at = at
        self._queue(at)

    @_fold.register
    def _(self, event: events.RunForked, at: datetime) -> None:
        # Until here it was another run's story: what that one waited for, took and used is not its.
        self.created_at, self.started_at, self.pause, self.cancelling = at, None, None, False
        self.waits.clear()
        self.input_tokens = self.output_tokens = self.cached_tokens = 0
        self.cost, self.priced = Decimal(0), True
        for name in [name for name in self._kept if name.startswith("time ")]:
            del self._kept[name]
            self._changed[name] = None
        self._open_times.clear()
        self._queue(at)

    @_fold.register
    def _(self, event: events.RunStarted, at: datetime) -> None:
        self._close("queue", at)
        self._set("running")
        self.worker, self.model = event.worker, event.model
        self.started_at = self.started_at or at

    @_fold.register
    def _(self, event: events.RunRequeued, at: datetime) -> None:
        self._queue(at)

    @_fold.register
    def _(self, event: events.ModelAnswered, at: datetime) -> None:
        self.turn, message = event.turn, event.message
        self._close("queue", at)
        if not self.waits:
            self.status = "running"
        self._spend(event)
        names = [f"{event.turn}.{index}" for index in range(len(message.tool_calls))]
        for name, call in zip(names, message.tool_calls, strict=True):
            self.calls[name] = CallView(name, call.name, call.arguments)
            self._changed[f"call {name}"] = None
        thoughts = [_thought(one.block) for one in message.thinking]
        # What was thought live and is not journaled stays on the pages that saw it.
        thinking = {"thinking": "\n\n".join(filter(None, thoughts))} if any(thoughts) else {}
        turn: Parts = {
            "number": event.turn,
            "seq": self.seq,
            "at": _ms(at),
            "answered": True,
            "gap": False,
            "text": message.text,
            "kept": bool(thinking),
            **thinking,
            "input": event.usage.input_tokens,
            "output": event.usage.output_tokens,
            "cost": event.cost_usd,
            "ms": event.duration_ms,
            "model": event.model,
            "finish": event.finish_reason,
            "calls": names,
        }
        self._keep(f"turn {event.turn}", turn)
        self._took("model", at, event.duration_ms, turn=event.turn)

    @_fold.register
    def _(self, event: events.ModelDelayed, at: datetime) -> None:
        self.pause = event.reason, at + timedelta(seconds=event.delay_seconds)
        self._wait(event.key, TIMER, at, reason=event.reason)

    @_fold.register
    def _(self, event: events.ModelCut, at: datetime) -> None:
        self._spend(event)
        self._took("model", at, event.duration_ms, name="cut off")

    @_fold.register
    def _(self, event: events.ContextSummarized, at: datetime) -> None:
        self._spend(event)
        self._took("model", at, event.duration_ms, name="summary")

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
    def _(self, event: events.DecisionLapsed, at: datetime) -> None:
        self._call(event.call_id).decision = None

    @_fold.register
    def _(self, event: events.OutcomeAsked, at: datetime) -> None:
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
            self._took("tool", at, event.duration_ms, call=event.call_id)

    @_fold.register
    def _(self, event: events.CallWaiting, at: datetime) -> None:
        call = self._call(event.call_id)
        kind = kind_of(event.kind)
        call.status, call.asked, call.children = "waiting", kind.asks_person, list(event.runs)
        if kind.asks_person:
            call.decision = None
        for key in event.keys:
            self._wait(key, kind, at, call=event.call_id)

    @_fold.register
    def _(self, event: events.WaitResolved, at: datetime) -> None:
        self.waits.pop(event.key, None)
        self.pause = None
        self._close(event.key, at)
        self._changed["run"] = None
        call = self.asked_by(event.key)
        if call is not None:
            call.asked, call.doubt, call.status = False, False, "pending"
            call.decision = {**event.value, "at": _ms(at)}
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
    def _(self, event: events.RunRevived, at: datetime) -> None:
        self.finished_at, self.problem, self.ending = None, "", None
        self._queue(at)

    @_fold.register
    def _(self, event: events.RunDiscarded, at: datetime) -> None:
        self._end("cancelled", at, say(event, str).title)

    def asked_by(self, key: str) -> CallView | None:
        """The call about which a wait, open or resolved, asks a person."""
        return self.calls.get(self._asked.get(key, ""))

    def _call(self, call_id: str) -> CallView:
        """Return a call that changes."""
        self._changed[f"call {call_id}"] = None
        return self.calls.setdefault(call_id, CallView(call_id, "", "{}"))

    def _set(self, status: str) -> None:
        self.status = status
        self._changed["run"] = None

    def _queue(self, at: datetime) -> None:
        self._set("queued")
        self._open("queue", "queue", at)

    def _wait(self, key: str, kind: WaitKind, at: datetime, **more: Any) -> None:
        self._set("waiting")
        self.waits[key] = {"kind": kind.lane, "for": kind.waits_for, **more}
        if kind.asks_person:
            self._asked[key] = more.get("call", "")
        self._open(key, kind.lane, at, call=more.get("call"))

    def _spend(
        self, event: events.ModelAnswered | events.ModelCut | events.ContextSummarized
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
            # What it was about when it ended has no event of its own.
            kind = "tool" if self.open_calls else "model"
            self._took(kind, at, (at - self._last_at).total_seconds() * 1000)
        self._set(status)
        self.finished_at, self.problem, self.pause = at, problem, None
        message = f"{problem[:1].upper()}{problem[1:]}" if problem else None
        self.ending = {"status": status, "message": message, "text": "", **more}
        self.waits.clear()
        for key in list(self._open_times):
            self._close(key, at)
        for call in self.calls.values():
            if call.status in (*_OPEN, "waiting"):
                call.status = "cancelled"
                self._changed[f"call {call.call_id}"] = None
            call.asked = call.doubt = False

    def _open(self, key: str, kind: str, at: datetime, **more: Any) -> None:
        """A piece of time begins whose end is not known yet."""
        self._close(key, at)
        self._times += 1
        name = self._open_times[key] = f"time {self._times}"
        self._keep(name, {"kind": kind, "from": _ms(at), "to": None, **more})

    def _close(self, key: str, at: datetime) -> None:
        """Its end."""
        name = self._open_times.pop(key, None)
        if name is not None:
            part = self._kept[name]
            self._keep(name, {**part, "to": max(part["from"], _ms(at) or 0)})

    def _took(self, kind: str, at: datetime, ms: float, **more: Any) -> None:
        """A piece of time has just ended that took so long."""
        self._times += 1
        end = _ms(at) or 0
        begin = max(_ms(self.created_at) or 0, end - round(ms))
        self._keep(f"time {self._times}", {"kind": kind, "from": begin, "to": end, **more})


class Tree:
    """The runs of one tree, in the order in which they were first seen: parents before children."""

    def __init__(self) -> None:
        self.runs: dict[UUID, RunView] = {}

    def apply(self, update: Update) -> Parts | None:
        """Take in an update; None if it was known, else the parts of its run that it changed."""
        match update:
            case RunSeen(run) if run.pk not in self.runs:
                self.runs[run.pk] = RunView(run.pk, run.parent_id, run.agent, run.task)
                return {}
            case RunSeen():
                return None  # what changed in its row is in its events
            case Happened(run_id, recorded):
                return self.runs[run_id].fold(recorded)
            case Streamed(run_id, delta):
                return self.runs[run_id].stream(delta)


def brief_arguments(call: CallView) -> str:
    """A call's arguments as a person wants them: whom a delegation names, else compact JSON."""
    written = call.runs_with
    try:
        arguments = json.loads(written or "{}")
    except ValueError:
        return written
    if not isinstance(arguments, dict):
        return written
    tasks = arguments.get("tasks")
    if call.tool == "delegate_task" and isinstance(tasks, list):
        return ", ".join(str(task.get("agent")) for task in tasks if isinstance(task, dict))
    return json.dumps(arguments, ensure_ascii=False) if arguments else ""


def _call_part(call: CallView) -> Parts:
    part, decided = asdict(call), call.decided
    part["decided"] = decided[:1].upper() + decided[1:]
    return {"id": part.pop("call_id"), "turn": int(call.call_id.partition(".")[0]), **part}


def _thought(block: dict[str, Any]) -> str:
    """Return what a provider's block of thinking lets people read."""
    summary = block.get("summary")
    if isinstance(summary, list):
        return "\n\n".join(str(part.get("text", "")) for part in summary)
    names = ("thinking", "text", "reasoning", "reasoning_content", "content")
    texts = (block.get(name) for name in names)
    return next((text for text in texts if isinstance(text, str)), "")


def _ms(at: datetime | None) -> int | None:
    return None if at is None else round(at.timestamp() * 1000)
