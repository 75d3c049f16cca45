"""What the engine does next, without doing it: the real engine, with ports that only write down."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from pydantic_core import to_jsonable_python

from agents.journal.events import encode
from agents.llm.messages import TextDelta
from agents.loop import delegation
from agents.loop.agent_engine import AgentEngine
from agents.loop.effect_gate import EffectGate
from agents.loop.journaled import JournaledState
from agents.loop.ports import Committed, PendingChildren, PendingSuspension, Ports
from agents.runtime.rights.lookups import CallLookups
from agents.runtime.toolset.stopped_tools import StoppedTools, WorkspaceStoppedTools
from agents.runtime.toolset.toolbox import RunToolbox
from heartbit_site.base.suspensions import ChildTask
from heartbit_site.base.toolspec import ToolContext
from tests.runs.serving import no_credentials, no_permissions, no_person, nothing_mixed
from tools.calls.result import ToolResult

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from decimal import Decimal
    from uuid import UUID

    from agents.definitions.definition import AgentDefinition
    from agents.journal.events import Ending, Event, RecordedEvent, ToolFinished
    from agents.llm.messages import ChatRequest, StreamEvent, Usage
    from agents.loop.agent_state import AgentState
    from agents.loop.ports import Pending, ReadyCall
    from agents.runtime.toolset.offer import OfferedTools
    from tools.calls.pipeline import CallJournal, SuspendedCall

#: What a clock says, not the loop.
_MEASURED = frozenset({"duration_ms"})
#: Limit of a transaction in the recorded decisions, in seconds.
_NOTED_LIMIT = 60
#: What events say since the journals were recorded, and what says nothing: then they are the same.
_LATER: dict[str, dict[str, Any]] = {
    "approval.requested": {
        "timeout_seconds": None,
        "needed": 1,
        "group": "",
        "escalate_seconds": None,
        "escalate_group": "",
        "question": 1,
        "mixed_data": False,
        "credentials": {},
    },
    "tool.finished": {"artifact": "", "images": []},
    "run.succeeded": {"left_out": "", "reviewed_by": "", "is_edited": False},
    "call.waiting": {"question": "", "form": {}, "state": "", "group": ""},
}


#: A child that says no more than its agent and task.
_PLAIN = ChildTask("", "")


class _AskedError(Exception):
    """A model was asked; the decision is complete."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Of a run, all that a decision may depend on beside its state."""

    id: UUID
    definition: AgentDefinition
    offer: OfferedTools
    approve: bool


@dataclass(frozen=True, slots=True)
class Decision:
    """What the engine does next.

    Attributes:
        kind: What comes first, for people: ``ask``, ``call``, ``record``, ``suspend``, ``finish``,
            with the type of its event.
        digest: Of all of it, in canonical JSON.
    """

    kind: str
    digest: str


async def decide(state: AgentState, subject: Subject) -> Decision:
    """The next step from this state, which stays as it is.

    Raises:
        Exception: No slice can begin here: a call of the run is still waited for.
    """
    notes = _Notes()
    model = _Model(notes, "own")
    ports = Ports(
        model, _Toolbox(notes, subject), _Live(), _no_price, strong_model=_Model(notes, "strong")
    )
    engine = AgentEngine(
        JournaledState(state, notes), subject.definition, ports, EffectGate(_proven, lambda: None)
    )
    with suppress(_AskedError):
        await engine.step()
    text = json.dumps(notes.lines, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return Decision(notes.kind, hashlib.sha256(text.encode()).hexdigest()[:16])


@dataclass(slots=True)
class _Notes:
    """A journal that keeps what it is told to itself, and what else was done in between."""

    lines: list[Any] = field(default_factory=list)

    def add(self, done: str, what: object) -> None:
        self.lines.append([done, to_jsonable_python(what, fallback=str)])

    @property
    def kind(self) -> str:
        if not self.lines:
            return "nothing"
        done, what = self.lines[0]
        first = what[0] if isinstance(what, list) and what else what
        return f"{done} {first['type']}" if isinstance(first, dict) and "type" in first else done

    async def record(self, *events: Event) -> Sequence[RecordedEvent]:
        return self.record_here(0, *events)

    def record_here(self, folded: int, *events: Event) -> Sequence[RecordedEvent]:
        if events:  # else it looks for news, which it does when a call took long: no decision
            self.add("record", [_shown(event) for event in events])
        return ()

    def committed(self, seq: int) -> None:
        """Nothing is committed."""

    async def transact(
        self, body: Callable[[], Event], *, timeout_seconds: float
    ) -> Sequence[RecordedEvent]:
        # How long it may take is no decision: the agent's limit was noted, the call's holds now.
        self.add("transact", _NOTED_LIMIT)
        return ()

    async def finish(self, ending: Ending, *events: Event) -> Committed:
        self.add("finish", [_shown(event) for event in (ending, *events)])
        return Committed()

    async def begin_waits(self, *pending: Pending) -> Sequence[RecordedEvent]:
        raise AssertionError(f"an agent waits for nothing while it works: {pending}")

    async def suspend(
        self, *pending: Pending, first: Sequence[Event] = (), wake_at: int = 0
    ) -> Committed:
        assert wake_at == 0  # an agent continues once all its waits have ended
        self.add("suspend", [*map(_shown, first), *(_waited(each) for each in pending)])
        return Committed()


def _shown(event: Event) -> dict[str, Any]:
    shown = encode(event)
    later = _LATER.get(shown["type"], {})
    payload = {
        name: value
        for name, value in shown["payload"].items()
        if name not in _MEASURED and (name not in later or value != later[name])
    }
    return {"type": shown["type"], "payload": payload}


def _waited(pending: Pending) -> object:
    if isinstance(pending, PendingChildren):
        return to_jsonable_python(pending, fallback=str)
    if not isinstance(pending, PendingSuspension):
        return _shown(pending)
    shown = to_jsonable_python(pending, fallback=str)
    # What a suspension says since the journals were recorded.
    if shown["number"] == 1:
        del shown["number"]
    if shown["suspension"]["question"] is None:
        del shown["suspension"]["question"]
    if shown["suspension"]["kind"] == "child":
        del shown["suspension"]["kind"]
    if shown["suspension"]["state"] == "":
        del shown["suspension"]["state"]
    for child in shown["suspension"]["children"]:
        for name in child.keys() - {"agent", "task"}:
            if child[name] == getattr(_PLAIN, name):
                del child[name]
    return shown


@dataclass(frozen=True, slots=True)
class _Model:
    notes: _Notes
    name: str

    async def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        # How long may be waited for is what a clock says.
        asked = to_jsonable_python(replace(request, timeout_seconds=0.0), fallback=str)
        del asked["ready"]  # who waits before it goes out is no part of what is asked
        for message in (*asked["messages"], *asked["examples"]):
            if message.get("images") == []:  # messages have them since the journals were recorded
                del message["images"]
        self.notes.add(f"ask {self.name}", asked)
        if self.notes.lines:
            raise _AskedError
        yield TextDelta("")  # a generator, as the protocol has it


class _Toolbox(RunToolbox):
    """The run's own toolbox, of which nothing leaves this process."""

    def __init__(self, notes: _Notes, subject: Subject) -> None:
        super().__init__(
            subject.offer,
            subject.definition,
            approve=subject.approve,
            context=lambda call_id: _context(subject, call_id),
            executor=cast("Any", None),
            lookups=CallLookups(
                granted=_nobody,
                lost=_everybody_may,
                credentials=no_credentials,
                permissions=no_permissions,
                person=no_person,
                mixed=nothing_mixed,
            ),
            stopped=WorkspaceStoppedTools(StoppedTools(), 0),
        )
        self._notes = notes

    @property
    def free_threads(self) -> int:
        return 0

    async def execute(self, ready: ReadyCall, journal: CallJournal) -> ToolResult | SuspendedCall:
        self._note(ready)
        if ready.prepared.spec.name == delegation.NAME:
            return await super().execute(ready, journal)
        if ready.prepared.spec.effect in ("idempotent", "at_most_once"):
            await journal.intend()
        return ToolResult("as it was", "ok")

    def transaction(self, call_id: str, ready: ReadyCall) -> Callable[[], ToolFinished]:
        self._note(ready)
        return super().transaction(call_id, ready)

    def _note(self, ready: ReadyCall) -> None:
        prepared = ready.prepared
        limits = [prepared.timeout_seconds, prepared.max_output_bytes]
        what = [prepared.spec.name, prepared.spec.effect, dict(prepared.arguments), *limits]
        self._notes.add(f"call {prepared.spec.name}", what)


class _Live:
    def delta(self, turn: int, event: StreamEvent) -> None:
        """Nobody reads."""

    def restarted(self, turn: int) -> None:
        """Nobody reads."""


def _context(subject: Subject, call_id: str) -> ToolContext:
    return ToolContext(
        workspace_id=0,
        run_id=subject.id,
        root_id=subject.id,
        agent=subject.definition.name,
        call_id=call_id,
        idempotency_key=f"{subject.id}:{call_id}",
        http=cast("Any", None),
    )


def _no_price(model: str, usage: Usage) -> Decimal | None:
    return None


async def _nobody(name: str, pinned: str) -> int | None:
    return None


async def _everybody_may(key: str) -> str | None:
    return None


async def _proven() -> None:
    return
