"""Every fact a run's journal can hold: one class a type, one union, one codec. Pure.

Events are versioned JSON: a reader ignores fields it does not know and a field added later has a
default, so old journals stay readable. A type is never renamed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Literal

from pydantic import TypeAdapter

from agents.journal import waits
from agents.llm.messages import (  # noqa: TC001  pydantic evaluates them
    AssistantMessage,
    ToolCall,
    Usage,
)

ToolStatus = Literal["ok", "error", "timeout", "invalid", "refused", "uncertain"]


@dataclass(frozen=True, slots=True)
class RunCreated:
    """The run was accepted. Written by the database function that inserts its row.

    Attributes:
        kind: What executes it (``agents.runtime.engines``).
        call: The call that a run of the kind ``tool_call`` is; its id in the journal is ``0.0``.
    """

    type: ClassVar[str] = "run.created"
    task: str
    agent: str
    kind: str = "agent"
    call: ToolCall | None = None


@dataclass(frozen=True, slots=True)
class RunForked:
    """All before it is another run's journal: this run goes on from there. Written by the fork.

    Attributes:
        source: The other run's id.
        seq: The last event that was copied.
        turn: The last turn that was copied; with replaced arguments its calls run again.
        edits: What differs from the source: ``task``, ``call``, ``arguments``, ``result``,
            ``message``, ``version``.
        by: Who made the fork.
        thread: What was said on the source's conversation before it: {task, output, steers} each.
    """

    type: ClassVar[str] = "run.forked"
    source: str
    seq: int
    turn: int
    edits: dict[str, Any] = field(default_factory=dict)
    by: str = ""
    thread: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A worker claimed the run: one slice begins. Written by the claim."""

    type: ClassVar[str] = "run.started"
    worker: str
    task_id: str
    model: str


@dataclass(frozen=True, slots=True)
class RunRequeued:
    """The run went back to the queue: its worker died, drained, or its slice was long enough."""

    type: ClassVar[str] = "run.requeued"
    reason: str


@dataclass(frozen=True, slots=True)
class ModelAnswered:
    """The model's whole answer; once journaled it is never asked for again.

    ``seen`` is the last event that the model had been told of when it was asked.
    """

    type: ClassVar[str] = "model.answered"
    turn: int
    message: AssistantMessage
    usage: Usage
    finish_reason: str
    model: str
    duration_ms: int = 0
    cost_usd: str | None = None
    seen: int = 0


@dataclass(frozen=True, slots=True)
class ModelInterrupted:
    """A model call that had begun to answer ended without its whole answer, which is void.

    Providers bill what was said until then and do not tell how much that was: ``usage`` is a guess
    from the request's length and what had arrived.

    Attributes:
        turn: The turn that was asked.
        reason: One sentence for a person.
    """

    type: ClassVar[str] = "model.interrupted"
    turn: int
    reason: str
    usage: Usage
    model: str
    duration_ms: int = 0
    cost_usd: str | None = None


@dataclass(frozen=True, slots=True)
class ModelDelayed:
    """The provider, or Heartbit's own limiter, wants a long pause: the run waits without a worker.

    Attributes:
        turn: The turn that was to be asked.
        key: The timer's wait.
        reason: One sentence for a person.
        delay_seconds: How long.
        attempts: Failed attempts before it; waiting for Heartbit's own limiter is none.
    """

    type: ClassVar[str] = "model.delayed"
    turn: int
    key: str
    reason: str
    delay_seconds: float
    attempts: int = 1

    @property
    def wait(self) -> dict[str, Any]:
        """The wait that it opens."""
        return waits.TIMER.row(self.key, timeout_seconds=self.delay_seconds)


@dataclass(frozen=True, slots=True)
class ContextSummarized:
    """From here on a summary stands for the conversation's messages 1 up to, not including, upto.

    Message 0, the first one, stays as it is.
    """

    type: ClassVar[str] = "context.summarized"
    turn: int
    upto: int
    text: str
    usage: Usage
    model: str
    duration_ms: int = 0
    cost_usd: str | None = None


@dataclass(frozen=True, slots=True)
class ApprovalRequested:
    """A call waits until a person decides; ``digest`` is of exactly what they are shown.

    Attributes:
        timeout_seconds: When it is refused unless somebody decides; None: never.
        needed: How many people have to approve it.
        group: Whose members may decide; empty: whoever may decide at all.
        escalate_seconds: When more people may decide unless somebody has; None: never.
        escalate_group: Whose members may decide from then on as well; empty: whoever may at all.
        question: How often the call was asked about, this time included.
    """

    type: ClassVar[str] = "approval.requested"
    call_id: str
    tool: str
    arguments: dict[str, Any]
    effect: str
    digest: str
    reason: str
    timeout_seconds: int | None = None
    needed: int = 1
    group: str = ""
    escalate_seconds: int | None = None
    escalate_group: str = ""
    question: int = 1

    @property
    def key(self) -> str:
        """The wait that the decision resolves."""
        return approval_key(self.call_id, self.question)

    @property
    def wait(self) -> dict[str, Any]:
        """The wait that it opens."""
        return waits.APPROVAL.row(
            self.key,
            self.call_id,
            timeout_seconds=self.timeout_seconds,
            escalate_seconds=self.escalate_seconds,
        )


def approval_key(call_id: str, question: int) -> str:
    """The wait that a decision resolves; the first has the name that all had once."""
    return f"approval:{call_id}" if question == 1 else f"approval:{call_id}:{question}"


@dataclass(frozen=True, slots=True)
class ApprovalEscalated:
    """Nobody has decided about a call in time: more people may. Written by the sweeper.

    Attributes:
        key: The wait that is still open.
        group: Whose members may decide now as well; empty: whoever may decide at all.
    """

    type: ClassVar[str] = "approval.escalated"
    call_id: str
    key: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalLapsed:
    """Who let a call run may not decide it any more: it was not run, and is asked about again.

    Attributes:
        key: The wait that they had resolved.
        reason: One sentence for a person.
    """

    type: ClassVar[str] = "approval.lapsed"
    call_id: str
    key: str
    reason: str


@dataclass(frozen=True, slots=True)
class OutcomeRequested:
    """A worker died while an at-most-once call ran: a person says what became of it."""

    type: ClassVar[str] = "outcome.requested"
    call_id: str
    tool: str
    question: int

    @property
    def key(self) -> str:
        """The wait that their word resolves."""
        return f"outcome:{self.call_id}:{self.question}"

    @property
    def wait(self) -> dict[str, Any]:
        """The wait that it opens."""
        return waits.OUTCOME.row(self.key, self.call_id)


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """The intent to run a tool that acts outside, committed before the call."""

    type: ClassVar[str] = "tool.started"
    call_id: str
    effect: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool call's result; once journaled it is never computed again.

    ``grant`` is the standing permission by which it ran without being asked for.
    """

    type: ClassVar[str] = "tool.finished"
    call_id: str
    status: ToolStatus
    content: str
    effect: str = ""
    duration_ms: int = 0
    grant: int | None = None


@dataclass(frozen=True, slots=True)
class CallWaiting:
    """A tool call cannot answer yet: it waits for these keys, and the run gives its worker back.

    Attributes:
        kind: The kind of the waits (``agents.journal.waits``).
        runs: Ids of the sub-agents' runs that are waited for.
    """

    type: ClassVar[str] = "call.waiting"
    call_id: str
    keys: tuple[str, ...]
    kind: str = "child"
    runs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WaitResolved:
    """A wait ended. Written by the join.

    Attributes:
        value: Holds at least ``subject`` and ``status``.
        kind: The kind of the wait (``agents.journal.waits``).
        call_id: The tool call that waited; empty: none did.
    """

    type: ClassVar[str] = "wait.resolved"
    key: str
    value: dict[str, Any] = field(default_factory=dict)
    kind: str = ""
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class RunSteered:
    """Somebody tells the run something; its next model call sees it. Written by the steer.

    Attributes:
        text: What is said.
        by: Who says it, as people read it.
        source: A person's word, or a program's, gives the run new turns; another agent's does not.
    """

    type: ClassVar[str] = "run.steered"
    text: str
    by: str = ""
    source: Literal["person", "agent"] = "person"


@dataclass(frozen=True, slots=True)
class CancelRequested:
    """Somebody wants the running run to stop. Written by the cancel."""

    type: ClassVar[str] = "run.cancel_requested"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RunSucceeded:
    """The final answer.

    Attributes:
        output: Its text.
        finish_reason: ``length`` when the model was cut at max_tokens.
        structured: The answer as the agent's response schema wants it, when it has one.
    """

    type: ClassVar[str] = "run.succeeded"
    output: str
    finish_reason: str = "stop"
    structured: Any = None


@dataclass(frozen=True, slots=True)
class RunFailed:
    """The run ended without a final answer.

    Attributes:
        kind: ``limit``, ``model``, ``output``, ``tool``, ``definition`` or ``internal``.
        message: One sentence for a person.
        limit: Which limit, when kind is ``limit``.
        partial: The last text produced before the end.
    """

    type: ClassVar[str] = "run.failed"
    kind: str
    message: str
    limit: str = ""
    partial: str = ""


@dataclass(frozen=True, slots=True)
class RunCancelled:
    """The run was cancelled; what it had produced stays in the journal."""

    type: ClassVar[str] = "run.cancelled"
    reason: str = ""
    partial: str = ""


@dataclass(frozen=True, slots=True)
class RunQuarantined:
    """The run's workers died too often without progress. Written by the sweeper."""

    type: ClassVar[str] = "run.quarantined"
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class RunUnquarantined:
    """Somebody let a quarantined run go on. Written by the revival."""

    type: ClassVar[str] = "run.unquarantined"
    by: str = ""


@dataclass(frozen=True, slots=True)
class RunDiscarded:
    """Somebody gave a quarantined run up. Written by that."""

    type: ClassVar[str] = "run.discarded"
    by: str = ""


Event = (
    RunCreated
    | RunForked
    | RunStarted
    | RunRequeued
    | ModelAnswered
    | ModelInterrupted
    | ModelDelayed
    | ContextSummarized
    | ApprovalRequested
    | ApprovalEscalated
    | ApprovalLapsed
    | OutcomeRequested
    | ToolStarted
    | ToolFinished
    | CallWaiting
    | WaitResolved
    | RunSteered
    | CancelRequested
    | RunSucceeded
    | RunFailed
    | RunCancelled
    | RunQuarantined
    | RunUnquarantined
    | RunDiscarded
)
#: What the loop ends a run with.
Ending = RunSucceeded | RunFailed | RunCancelled
#: With each a run is over.
Closing = Ending | RunQuarantined | RunDiscarded
#: Each says what it waits for.
Opening = ApprovalRequested | OutcomeRequested | ModelDelayed

_ADAPTERS: dict[str, TypeAdapter[Event]] = {kind.type: TypeAdapter(kind) for kind in Event.__args__}


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """An event at its place in the journal."""

    seq: int
    at: datetime
    event: Event


def encode(event: Event) -> dict[str, Any]:
    """The event as it is stored: its type and a JSON payload."""
    return {"type": event.type, "payload": _ADAPTERS[event.type].dump_python(event, mode="json")}


def decode(kind: str, payload: dict[str, Any]) -> Event:
    """The event of a stored row.

    Raises:
        KeyError: This version of Heartbit does not know the type.
        pydantic.ValidationError: The payload does not have the type's form.
    """
    return _ADAPTERS[kind].validate_python(payload)


def decode_row(row: dict[str, Any]) -> RecordedEvent:
    """The event of a row as the journal's functions return it: ``{seq, type, payload, at}``."""
    return RecordedEvent(
        seq=row["seq"],
        at=datetime.fromisoformat(row["at"]),
        event=decode(row["type"], row["payload"]),
    )
