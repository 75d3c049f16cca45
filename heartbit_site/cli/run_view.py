"""One run of a tree as its journal and its stream tell it: a fold over its events. No I/O."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import singledispatchmethod
from typing import TYPE_CHECKING, Any, Final

from agents import events
from agents.live.words import decision, say

if TYPE_CHECKING:
    from uuid import UUID

    from agents.live.entries import Delta, DeltaKind


#: As agents.choices.TERMINAL, which needs Django.
TERMINAL: Final = frozenset({"succeeded", "failed", "cancelled", "quarantined"})
_LONGEST: Final = 80  # characters of a call's arguments, in its name
#: Happen to the conversation: the last one of them is the run's remark.
_REMARKS: Final = (
    events.RunForked,
    events.ModelCut,
    events.ContextSummarized,
    events.RunSteered,
    events.RunRevived,
)


@dataclass(slots=True)
class CallView:
    """One tool call.

    Attributes:
        arguments: What the model wrote; what a person wrote instead, once they did.
        asked: Whether it waits for a person's decision.
        doubt: Whether it waits for a person's word on what became of it.
        decided: What was decided and by whom, e.g. `approved by alice`.
        granted: Whether it ran by a standing permission.
    """

    call_id: str
    tool: str
    arguments: str
    status: str = "pending"
    asked: bool = False
    doubt: bool = False
    result: str = ""
    duration_ms: int = 0
    decided: str = ""
    granted: bool = False

    @property
    def over(self) -> bool:
        """Whether it has a result."""
        return self.status not in ("pending", "waiting")


@dataclass(slots=True)
class RunView:
    """One run as its journal and its stream tell it.

    Attributes:
        seq: The last event folded.
        text: What the model call in flight has said so far; empty once it is journaled.
        kind: Whether that is an answer or thinking.
        waits: Open waits, by key.
        pause: Why it waits for a point in time, and until when.
        remark: The last thing that happened to its conversation: it was told something, or summed
            up.
    """

    run_id: UUID
    parent_id: UUID | None
    agent: str
    task: str
    model: str = ""
    status: str = "queued"
    seq: int = 0
    turn: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    text: str = ""
    kind: DeltaKind = "text"
    calls: list[CallView] = field(default_factory=list)
    waits: set[str] = field(default_factory=set)
    pause: tuple[str, datetime] | None = None
    remark: str = ""
    cancelling: bool = False
    problem: str = ""
    created_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    _attempt: tuple[int, int] = (0, 0)
    _offset: int = 0

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.status in TERMINAL

    @property
    def call_names(self) -> dict[str, str]:
        """The tool calls by id, as ``agents.live.words`` names them."""
        return {call.call_id: _named(call) for call in self.calls}

    @property
    def open_calls(self) -> list[CallView]:
        """Calls without a result."""
        return [call for call in self.calls if not call.over]

    def elapsed(self, now: datetime) -> float:
        """Seconds since it was first started."""
        if self.started_at is None:
            return 0.0
        return max(0.0, ((self.finished_at or now) - self.started_at).total_seconds())

    def stream(self, delta: Delta) -> None:
        """Take in a piece of the model call in flight."""
        attempt = (delta.turn, delta.attempt)
        if delta.turn <= self.turn or attempt < self._attempt:
            return  # of a call that is journaled, or was given up
        if attempt != self._attempt:
            self.text, self._offset = "", 0
        elif delta.offset < self._offset:
            self.text = ""  # the stream is being read again
        if delta.kind != self.kind:
            self.text, self.kind = "", delta.kind
        gap = "…" if delta.offset > self._offset else ""
        self._attempt, self._offset = attempt, delta.offset + len(delta.text)
        self.text += gap + delta.text

    def fold(self, recorded: events.Recorded) -> bool:
        """Take in an event of the journal, once; whether it was news."""
        if recorded.seq <= self.seq:
            return False
        self.seq = recorded.seq
        self._fold(recorded.event, recorded.at)
        if isinstance(recorded.event, _REMARKS):
            said = say(recorded.event, {})
            text = "" if isinstance(recorded.event, events.ContextSummarized) else said.text
            self.remark = f"{said.title}: {text}" if text else said.title
        return True

    @singledispatchmethod
    def _fold(self, event: Any, at: datetime) -> None:
        """Events that change nothing one sees."""

    @_fold.register
    def _(self, event: events.RunCreated, at: datetime) -> None:
        self.created_at = at

    @_fold.register
    def _(self, event: events.RunForked, at: datetime) -> None:
        # Until here it was another run's story: what that one waited for, took and used is not its.
        self.status, self.started_at, self.pause, self.cancelling = "queued", None, None, False
        self.waits.clear()
        self.input_tokens = self.output_tokens = 0

    @_fold.register
    def _(self, event: events.RunStarted, at: datetime) -> None:
        self.status, self.model = "running", event.model
        self.started_at = self.started_at or at

    @_fold.register
    def _(self, event: events.RunRequeued, at: datetime) -> None:
        self.status, self.text = "queued", ""

    @_fold.register
    def _(self, event: events.ModelAnswered, at: datetime) -> None:
        self.turn, self.text = event.turn, ""
        self.input_tokens += event.usage.input_tokens
        self.output_tokens += event.usage.output_tokens
        self.calls += [
            CallView(f"{event.turn}.{index}", call.name, call.arguments)
            for index, call in enumerate(event.message.tool_calls)
        ]

    @_fold.register
    def _(self, event: events.ToolFinished, at: datetime) -> None:
        for call in self.calls:
            if call.call_id == event.call_id:
                call.status, call.result = event.status, event.content
                call.duration_ms = event.duration_ms
                call.granted = event.grant is not None

    @_fold.register
    def _(self, event: events.ApprovalRequested, at: datetime) -> None:
        self._suspend(event.call_id, event.key)
        for call in self.calls:
            if call.call_id == event.call_id:
                call.asked = True

    @_fold.register
    def _(self, event: events.DecisionLapsed, at: datetime) -> None:
        for call in self.calls:
            if call.call_id == event.call_id:
                call.decided = ""

    @_fold.register
    def _(self, event: events.OutcomeAsked, at: datetime) -> None:
        self._suspend(event.call_id, event.key)
        for call in self.calls:
            if call.call_id == event.call_id:
                call.doubt = True

    @_fold.register
    def _(self, event: events.ModelDelayed, at: datetime) -> None:
        self.status, self.text = "waiting", ""
        self.waits.add(event.key)
        self.pause = event.reason, at + timedelta(seconds=event.delay_seconds)

    @_fold.register
    def _(self, event: events.ModelCut, at: datetime) -> None:
        self.text = ""
        self.input_tokens += event.usage.input_tokens
        self.output_tokens += event.usage.output_tokens

    @_fold.register
    def _(self, event: events.ContextSummarized, at: datetime) -> None:
        self.input_tokens += event.usage.input_tokens
        self.output_tokens += event.usage.output_tokens

    @_fold.register
    def _(self, event: events.CallWaiting, at: datetime) -> None:
        self._suspend(event.call_id, *event.keys)

    @_fold.register
    def _(self, event: events.WaitResolved, at: datetime) -> None:
        self.waits.discard(event.key)
        self.pause = None
        call = self.asked_by(event.key)
        if call is not None:
            call.asked, call.doubt, call.status = False, False, "pending"
            call.decided = decision(event.value)
            call.arguments = written(event.value) or call.arguments
        if not self.waits and self.status == "waiting":
            self.status = "queued"

    @_fold.register
    def _(self, event: events.CancelRequested, at: datetime) -> None:
        self.cancelling = True

    @_fold.register
    def _(self, event: events.RunSucceeded, at: datetime) -> None:
        self._end("succeeded", at)

    @_fold.register
    def _(self, event: events.RunFailed, at: datetime) -> None:
        self._end("failed", at, event.message)

    @_fold.register
    def _(self, event: events.RunCancelled, at: datetime) -> None:
        self._end("cancelled", at, "cancelled")

    @_fold.register
    def _(self, event: events.RunQuarantined, at: datetime) -> None:
        self._end("quarantined", at, say(event, {}).text)

    @_fold.register
    def _(self, event: events.RunRevived, at: datetime) -> None:
        self.status, self.finished_at, self.problem = "queued", None, ""

    @_fold.register
    def _(self, event: events.RunDiscarded, at: datetime) -> None:
        self._end("cancelled", at, "discarded")

    def _suspend(self, call_id: str, *keys: str) -> None:
        self.status = "waiting"
        self.waits.update(keys)
        for call in self.calls:
            if call.call_id == call_id:
                call.status = "waiting"

    def asked_by(self, key: str) -> CallView | None:
        """The call whose approval, or outcome, a wait's key stands for."""
        kind, call_id, *_ = (*key.split(":"), "")
        if kind not in ("approval", "outcome"):
            return None
        return next((call for call in self.calls if call.call_id == call_id), None)

    def _end(self, status: str, at: datetime, problem: str = "") -> None:
        self.status, self.finished_at, self.problem = status, at, problem
        self.text, self.pause = "", None
        self.waits.clear()
        for call in self.calls:
            call.asked = call.doubt = False


def _named(call: CallView) -> str:
    arguments = " ".join(brief_arguments(call).split())
    if len(arguments) > _LONGEST:
        arguments = f"{arguments[: _LONGEST - 1].rstrip()}…"
    return f"{call.tool} {arguments}" if arguments else call.tool


def written(value: dict[str, Any]) -> str:
    """What a person wrote and runs, as JSON; empty when it is what the model wrote."""
    return str(value.get("arguments") or "")


def brief_arguments(call: CallView) -> str:
    """A call's arguments as a person wants them: whom a delegation names, else compact JSON."""
    try:
        arguments = json.loads(call.arguments or "{}")
    except ValueError:
        return call.arguments
    if not isinstance(arguments, dict):
        return call.arguments
    tasks = arguments.get("tasks")
    if call.tool == "delegate_task" and isinstance(tasks, list):
        return ", ".join(str(task.get("agent")) for task in tasks if isinstance(task, dict))
    return json.dumps(arguments, ensure_ascii=False) if arguments else ""
