"""View of a run: the one fold of its journal and its streamed text. Pure.

    changed = view.fold(recorded)  # or view.stream(delta)

``changed`` has the changed parts of the run's view, as JSON: a page keeps the parts by name and
needs no fold of its own. None if the update was already applied.

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
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, ClassVar, Final

from agents.journal import events
from agents.journal.folding import folds
from agents.journal.waits import APPROVAL, BUDGET, CHILD, OUTCOME, PAUSE, REVIEW, WaitKind, kind_of
from agents.live.live_run import LiveRun, activity
from agents.live.view_parts import OPEN, CallView, Parts, Timeline, to_ms
from agents.live.words import heading, say
from agents.llm.messages import ToolCall
from agents.runs.live_entries import Delta, Progress

#: Reason of a requeue after the death of a worker, as ``sql/sweep.sql`` writes it.
WORKER_LOST: Final = "worker lost"
#: Names of the times in which a person is asked about no call, by the kind of wait.
ABOUT: Final = {REVIEW.name: "review of the result", BUDGET.name: "budget"}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class RunView(LiveRun):
    """View of one run: its state and the parts that its pages show.

    Attributes:
        NOTES: Events shown between the turns.
        REMARKS: Events among them that become the run's remark.
        TITLES: Events among them that are shown without their text.
    """

    NOTES: ClassVar[tuple[type[events.Event], ...]] = (
        events.RunForked,
        events.RunSteered,
        events.RunUnquarantined,
        events.RunRequeued,
        events.RunRestored,
        events.RunReleased,
        events.RunPaused,
        events.ApprovalEscalated,
        events.ApprovalLapsed,
        events.CancelRequested,
        events.ReviewRequested,
        events.BudgetAsked,
        events.RunDiscarded,
    )
    REMARKS: ClassVar[tuple[type[events.Event], ...]] = (
        events.RunForked,
        events.RunSteered,
        events.RunUnquarantined,
        events.RunRestored,
        events.RunReleased,
    )
    TITLES: ClassVar[tuple[type[events.Event], ...]] = (events.RunForked,)

    _at: datetime = _EPOCH
    _last_at: datetime | None = None
    _doing: str = "queued"
    _kept: dict[str, Parts] = field(default_factory=dict)
    _times: Timeline = field(default_factory=Timeline)
    _asked: dict[str, str] = field(default_factory=dict)
    _changed: dict[str, None] = field(default_factory=dict)

    @property
    def _lane(self) -> str:
        """Row of the timeline for work that was stopped, which has no event of its own."""
        return "tool"

    def snapshot(self) -> Parts:
        """Return all parts of the view, without the text of a model call in flight."""
        names = ["run", *(f"call {call_id}" for call_id in self.calls), *self._kept]
        return {name: self._part(name) for name in names} | self._times.parts

    def stream(self, delta: Delta) -> Parts | None:
        """Apply a piece of the model call in flight; None if known or of an earlier call."""
        part = None if delta.turn <= self.turn else self.writing.add(delta)
        return part and {**part, "doing": heading(activity(self, delta.kind))}

    def progress(self, said: Progress) -> Parts | None:
        """Show the progress of a running call; None if the call is over or unknown."""
        call = self.calls.get(said.call_id)
        if call is None or call.over or call.progress == said.text:
            return None
        call.progress = said.text
        return {f"call {said.call_id}": call.part()}

    def fold(self, recorded: events.RecordedEvent) -> Parts | None:
        """Apply an event of the journal; return the changed parts, or None if already applied."""
        if recorded.seq <= self.seq:
            return None
        event = recorded.event
        self.seq, self._at = recorded.seq, recorded.at
        self.created_at = self.created_at or self._at
        self._changed.clear()
        self._times.changed.clear()
        self.apply(event)
        if isinstance(event, self.NOTES):
            self._note(event)
        self._last_at = self._at
        before, self._doing = self._doing, activity(self)
        if self._doing != before:
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
            "doing": heading(self._doing),
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
            "takes_messages": self.takes_messages,
            "waiting": self._waiting,
            "lost": self.lost,
            "waits": [{"key": key, **wait} for key, wait in self.waits.items()],
            "ending": self.ending,
        }

    @property
    def _waiting(self) -> str:
        """Kind of the open waits: ``person``, ``agents`` or ``others``; empty: there are none."""
        lanes = {wait["kind"] for wait in self.waits.values()}
        is_below = any("run" in wait for wait in self.waits.values())
        return next(
            (name for name, is_so in (
                ("person", "person" in lanes),
                ("agents", is_below),
                ("others", bool(lanes)),
            ) if is_so),
            "",
        )  # fmt: skip

    def _keep(self, name: str, part: Parts) -> None:
        self._kept[name] = part
        self._changed[name] = None

    def _note(self, event: Any) -> None:
        said = say(event, self.name_of)
        text = "" if isinstance(event, self.TITLES) else said.text
        if isinstance(event, self.REMARKS):
            self.remark = f"{said.title}: {text}" if text else said.title
        note: Parts = {"title": said.heading, "text": text, "icon": said.icon, "tone": said.tone}
        note |= {"seq": self.seq, "at": to_ms(self._at), "about": None, "who": None}
        if isinstance(event, events.RunForked):
            note["about"] = event.source
        elif isinstance(event, events.RunSteered):
            note["who"] = event.by
        elif isinstance(event, events.RunRequeued) and event.reason == WORKER_LOST:
            note["text"] = f"{self.worker or 'It'} died."
        self._keep(f"note {self.seq}", note)

    @folds(events.RunCreated)
    def _run_created(self, event: events.RunCreated) -> None:
        self.created_at, self.run_kind = self._at, event.kind
        self._queue()

    @folds(events.RunForked)
    def _run_forked(self, event: events.RunForked) -> None:
        # Earlier events are the source run's: its waits, times and usage do not count here.
        self.created_at, self.started_at, self.pause = self._at, None, None
        self.cancelling = self.is_reviewed = False
        self.waits.clear()
        self.input_tokens = self.output_tokens = self.cached_tokens = 0
        self.cost, self.priced = Decimal(0), True
        self._times.clear()
        self._queue()

    @folds(events.RunStarted)
    def _run_started(self, event: events.RunStarted) -> None:
        self._times.close("queue", self._at)
        self._set("running")
        self.worker, self.model, self.sandbox = event.worker, event.model, event.sandbox
        self.started_at = self.started_at or self._at

    @folds(events.RunRequeued)
    def _run_requeued(self, event: events.RunRequeued) -> None:
        if self.status == "running" and self._last_at is not None:
            is_lost = event.reason == WORKER_LOST
            why = f"{self.worker} died" if is_lost else event.reason
            self._lose(why)
            if is_lost:
                self.lost = f"Its worker {self.worker} died: what was begun begins again."
        self._queue()

    @folds(events.RunPaused)
    def _run_paused(self, event: events.RunPaused) -> None:
        self.pause = event.reason, self._at + timedelta(seconds=event.delay_seconds)
        self._wait(event.key, PAUSE, reason=event.reason)

    @folds(events.ChildStarted)
    def _child_started(self, event: events.ChildStarted) -> None:
        self._wait(event.key, CHILD, run=event.run, agent=event.agent)

    @folds(events.ApprovalRequested)
    def _approval_requested(self, event: events.ApprovalRequested) -> None:
        call = self._call(event.call_id)
        call.status, call.asked, call.decision = "waiting", True, None
        call.effect, call.reason = event.effect, event.reason
        self._wait(event.key, APPROVAL, call=event.call_id)

    @folds(events.BudgetAsked)
    def _budget_asked(self, event: events.BudgetAsked) -> None:
        self._wait(event.key, BUDGET)

    @folds(events.ReviewRequested)
    def _review_requested(self, event: events.ReviewRequested) -> None:
        self.is_reviewed = True
        self._wait(event.key, REVIEW)

    @folds(events.ApprovalEscalated)
    def _approval_escalated(self, event: events.ApprovalEscalated) -> None:
        if event.key in self.waits:
            self.waits[event.key]["escalated"] = True
            self._changed["run"] = None

    @folds(events.ApprovalLapsed)
    def _approval_lapsed(self, event: events.ApprovalLapsed) -> None:
        self._call(event.call_id).decision = None

    @folds(events.OutcomeRequested)
    def _outcome_requested(self, event: events.OutcomeRequested) -> None:
        call = self._call(event.call_id)
        call.status, call.doubt = "uncertain", True
        self._wait(event.key, OUTCOME, call=event.call_id)

    @folds(events.ToolStarted)
    def _tool_started(self, event: events.ToolStarted) -> None:
        call = self._call(event.call_id)
        call.status, call.effect = "running", event.effect

    @folds(events.ToolFinished)
    def _tool_finished(self, event: events.ToolFinished) -> None:
        call = self._call(event.call_id)
        call.status, call.result, self.lost = event.status, event.content, ""
        call.duration_ms, call.grant = event.duration_ms, event.grant
        call.images = list(event.images)
        call.effect = event.effect or call.effect
        call.asked = call.doubt = False
        if not call.children:
            self._times.add(
                "tool", self.created_at, self._at, event.duration_ms, call=event.call_id
            )

    @folds(events.ScriptCalled)
    def _script_called(self, event: events.ScriptCalled) -> None:
        self._call(event.call_id).status = "running"
        for call_id, call in zip(event.call_ids, event.calls, strict=True):
            self.calls[call_id] = CallView(call_id, call.name, call.arguments, event.call_id)
            self._changed[f"call {call_id}"] = None
        number = event.call_id.partition(".")[0]
        if turn := self._kept.get(f"turn {number}"):
            self._keep(f"turn {number}", {**turn, "calls": _after(turn["calls"], event)})

    @folds(events.CallWaiting)
    def _call_waiting(self, event: events.CallWaiting) -> None:
        call = self._call(event.call_id)
        kind = kind_of(event.kind)
        call.status, call.asked, call.children = "waiting", kind.asks_person, list(event.runs)
        if kind.asks_person:
            call.decision = None
        runs = dict(zip(event.keys, event.runs, strict=False))
        for key in event.keys:
            child = {"run": runs[key]} if key in runs else {}
            self._wait(key, kind, call=event.call_id, **child)

    @folds(events.WaitResolved)
    def _wait_resolved(self, event: events.WaitResolved) -> None:
        self.waits.pop(event.key, None)
        self.pause = None
        self._times.close(event.key, self._at)
        self._changed["run"] = None
        if event.kind in (REVIEW.name, BUDGET.name):
            self._note(event)
        if event.kind == REVIEW.name:
            decided = (event.value.get("answer") or {}).get("decision")
            self.is_reviewed = decided != "changes"
        call = self.asked_by(event.key)
        if call is not None:
            call.asked, call.doubt, call.status = False, False, "pending"
            call.decision = {**event.value, "at": to_ms(self._at)}
            self._changed[f"call {call.call_id}"] = None
        if not self.waits and self.status == "waiting":
            self._queue()

    @folds(events.CancelRequested)
    def _cancel_requested(self, event: events.CancelRequested) -> None:
        self.cancelling = True
        self._changed["run"] = None

    @folds(events.RunSucceeded)
    def _run_succeeded(self, event: events.RunSucceeded) -> None:
        more = {"finish_reason": event.finish_reason, "structured": event.structured}
        self._end("succeeded", text=event.output, **more)

    @folds(events.RunFailed)
    def _run_failed(self, event: events.RunFailed) -> None:
        self._end("failed", event.message, text=event.partial, limit=event.limit)

    @folds(events.RunCancelled)
    def _run_cancelled(self, event: events.RunCancelled) -> None:
        problem = f"cancelled: {event.reason}" if event.reason else "cancelled"
        self._end("cancelled", problem, text=event.partial)

    @folds(events.RunQuarantined)
    def _run_quarantined(self, event: events.RunQuarantined) -> None:
        self._end("quarantined", say(event, str).text)

    @folds(events.RunUnquarantined)
    def _run_unquarantined(self, event: events.RunUnquarantined) -> None:
        self.finished_at, self.problem, self.ending = None, "", None
        self._queue()

    @folds(events.RunDiscarded)
    def _run_discarded(self, event: events.RunDiscarded) -> None:
        self._end("cancelled", say(event, str).title)

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

    def _queue(self) -> None:
        self._set("queued")
        self._times.open("queue", "queue", self._at)

    def _wait(self, key: str, kind: WaitKind, **more: Any) -> None:
        self._set("waiting")
        self.waits[key] = {"kind": kind.lane, "for": kind.waits_for, **more}
        if kind.asks_person:
            self._asked[key] = more.get("call", "")
        name = {"name": ABOUT[kind.name]} if kind.name in ABOUT else {}
        self._times.open(key, kind.lane, self._at, call=more.get("call"), **name)

    def _turn(self, number: int, calls: tuple[ToolCall, ...]) -> Parts:
        """Open a turn's calls and return its part; turn 0 is a call without a model."""
        names = [f"{number}.{index}" for index in range(len(calls))]
        for name, call in zip(names, calls, strict=True):
            self.calls[name] = CallView(name, call.name, call.arguments)
            self._changed[f"call {name}"] = None
        return {
            "number": number,
            "seq": self.seq,
            "at": to_ms(self._at),
            "answered": True,
            "gap": False,
            "text": "",
            "kept": False,
            "calls": names,
        }

    def _lose(self, why: str) -> None:
        """Mark the time since the last event as lost: no event says what was done in it."""
        since = self._last_at or self._at
        ms = (self._at - since).total_seconds() * 1000
        self._times.add("lost", self.created_at, self._at, ms, why=why)

    def _end(self, status: str, problem: str = "", **more: Any) -> None:
        self.lost = ""
        if self.status == "running" and status == "quarantined":
            self._lose(f"{self.worker} died")
        elif self.status == "running" and status != "succeeded" and self._last_at is not None:
            # The interrupted model or tool call has no event of its own.
            self._times.add(
                self._lane,
                self.created_at,
                self._at,
                (self._at - self._last_at).total_seconds() * 1000,
            )
        self._set(status)
        self.finished_at, self.problem, self.pause = self._at, problem, None
        message = heading(problem) if problem else None
        self.ending = {"status": status, "message": message, "text": "", **more}
        self.waits.clear()
        self._times.close_all(self._at)
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
