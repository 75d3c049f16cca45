"""Event types of a run's journal: one class per type, one union, one codec. Pure.

Events are versioned JSON: a reader ignores unknown fields and a field added later has a default,
so old journals stay readable. A type is never renamed.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Literal

from pydantic import TypeAdapter

from agents.journal import waits
from agents.llm.messages import (
    AssistantMessage,
    ToolCall,
    Usage,
)

ToolStatus = Literal["ok", "error", "timeout", "invalid", "refused", "uncertain"]


@dataclass(frozen=True, slots=True)
class RunCreated:
    """The run was accepted. Written by the database function that inserts its row.

    Attributes:
        kind: Name of the engine that executes the run (``agents.runtime.execution.engines``).
        call: The call that a run of the kind ``tool_call`` executes; its id in the journal is
            ``0.0``.
    """

    type: ClassVar[str] = "run.created"
    task: str
    agent: str
    kind: str = "agent"
    call: ToolCall | None = None


@dataclass(frozen=True, slots=True)
class RunForked:
    """Marks the fork point: earlier events were copied from the source run's journal.

    Attributes:
        seq: The last event that was copied.
        turn: The last turn that was copied; with replaced arguments its calls run again.
        edits: Changes relative to the source: ``task``, ``call``, ``arguments``, ``result``,
            ``message``, ``version``.
        thread: Earlier runs of the source's conversation, each {task, output, steers}.
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
    """A worker claimed the run and began a slice. Written by the claim.

    ``sandbox`` names the worker's sandbox for code; empty: none, or not probed.
    """

    type: ClassVar[str] = "run.started"
    worker: str
    task_id: str
    model: str
    sandbox: str = ""


@dataclass(frozen=True, slots=True)
class RunRequeued:
    """The run went back to the queue: worker lost, worker drained, or slice time used up."""

    type: ClassVar[str] = "run.requeued"
    reason: str


@dataclass(frozen=True, slots=True)
class ModelAnswered:
    """A complete answer of the model; a journaled answer is never requested again.

    ``seen`` is the sequence number of the last event that the request included.
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
    """A model call ended before its answer was complete; the partial answer is discarded.

    Providers bill partial answers without reporting their size: ``usage`` is an estimate from the
    length of the request and of the text received.
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
    """The provider or Heartbit's limiter requires a long pause; the run waits without a worker.

    Attributes:
        attempts: Failed attempts so far; a pause by Heartbit's own limiter does not count.
    """

    type: ClassVar[str] = "model.delayed"
    turn: int
    key: str
    reason: str
    delay_seconds: float
    attempts: int = 1

    @property
    def wait(self) -> dict[str, Any]:
        """The wait that this event opens."""
        return waits.TIMER.row(self.key, timeout_seconds=self.delay_seconds)


@dataclass(frozen=True, slots=True)
class ContextSummarized:
    """A summary replaces the conversation's messages 1 to ``upto``, exclusive.

    Message 0, the first one, stays unchanged.
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
class MemoriesRecalled:
    """The run's model is given memories. Their texts are rows, which are erased with the memories.

    Attributes:
        memories: Ids of the memories, the best first.
        provided: Number of texts from another provider, which have no ids here.
        provider: Name of that provider; empty: none.
        from_outsiders: True if one of these texts may repeat text by outsiders.
    """

    type: ClassVar[str] = "memories.recalled"
    memories: tuple[int, ...]
    provided: int = 0
    provider: str = ""
    from_outsiders: bool = False


@dataclass(frozen=True, slots=True)
class MemoriesExtracted:
    """The run has stored memories of another run; written in the transaction that stores them.

    Attributes:
        added: Ids of the new memories.
        replaced: Ids of the memories whose text was replaced.
        skipped: Number of proposals that were not stored: already known, or without a valid quote.
        provided: Number of texts that were passed to another provider instead.
        provider: Name of that provider; empty: none.
    """

    type: ClassVar[str] = "memories.extracted"
    added: tuple[int, ...] = ()
    replaced: tuple[int, ...] = ()
    skipped: int = 0
    provided: int = 0
    provider: str = ""

    @property
    def summary(self) -> str:
        """The numbers in words."""
        if self.provider:
            texts = "1 text" if self.provided == 1 else f"{self.provided} texts"
            return f"gave {texts} to {self.provider}"
        added, replaced = len(self.added), len(self.replaced)
        if not added and not replaced:
            return "found nothing new to remember"
        parts = [f"added {added}"] * bool(added) + [f"replaced {replaced}"] * bool(replaced)
        return f"{' and '.join(parts)} {'memory' if added + replaced == 1 else 'memories'}"


@dataclass(frozen=True, slots=True)
class ApprovalRequested:
    """A call waits for a person's decision; ``digest`` covers exactly what the person is shown.

    Attributes:
        timeout_seconds: Seconds until the undecided call is refused; None: never.
        group: Group whose members may decide; empty: anyone with the right to decide.
        escalate_seconds: Seconds until the undecided call is escalated; None: never.
        escalate_group: Group that may decide as well after the escalation; empty: anyone with the
            right to decide.
        question: Number of this approval request for the call, starting at 1.
        credentials: Ids of the credentials that the call would use, by parameter.
        mixed_data: True if the call would send data out after private data and text by outsiders
            were read, so that no standing permission can replace the decision.
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
    mixed_data: bool = False
    credentials: dict[str, int] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Key of the wait that the decision resolves."""
        return waits.approval_key(self.call_id, self.question)

    @property
    def wait(self) -> dict[str, Any]:
        """The wait that this event opens."""
        return waits.APPROVAL.row(
            self.key,
            self.call_id,
            timeout_seconds=self.timeout_seconds,
            escalate_seconds=self.escalate_seconds,
        )


@dataclass(frozen=True, slots=True)
class ApprovalEscalated:
    """A call was not decided in time: more people may decide. Written by the sweeper.

    Attributes:
        group: Group that may now decide, too; empty: anyone with the right to decide.
    """

    type: ClassVar[str] = "approval.escalated"
    call_id: str
    key: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalLapsed:
    """The approver lost the right to decide before the call ran.

    The call was not run and needs a new approval.

    Attributes:
        key: Key of the wait that the decision had resolved.
    """

    type: ClassVar[str] = "approval.lapsed"
    call_id: str
    key: str
    reason: str


@dataclass(frozen=True, slots=True)
class OutcomeRequested:
    """A worker was lost during an at-most-once call: a person must state its outcome."""

    type: ClassVar[str] = "outcome.requested"
    call_id: str
    tool: str
    question: int

    @property
    def key(self) -> str:
        """Key of the wait that the person's statement resolves."""
        return f"outcome:{self.call_id}:{self.question}"

    @property
    def wait(self) -> dict[str, Any]:
        """The wait that this event opens."""
        return waits.OUTCOME.row(self.key, self.call_id)


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """Intent to run a tool with external effects, committed before the call."""

    type: ClassVar[str] = "tool.started"
    call_id: str
    effect: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """Result of a tool call; a journaled result is never computed again.

    Attributes:
        grant: Id of the standing permission that made an approval unnecessary.
        artifact: Name of the artifact that has the whole result, if ``content`` is only its
            beginning; empty: ``content`` is the whole result, or the rest was not stored.
    """

    type: ClassVar[str] = "tool.finished"
    call_id: str
    status: ToolStatus
    content: str
    effect: str = ""
    duration_ms: int = 0
    grant: int | None = None
    artifact: str = ""


@dataclass(frozen=True, slots=True)
class ScriptCalled:
    """A script made calls and waits for their results. Their ids are ``call_id.number``.

    Attributes:
        first: Number of the first of these calls among all calls of the script, from 0.
        snapshot: State of the waiting script (``tools.scripts.steps.Round``).
        printed: Text printed since the previous calls.
        duration_ms: Time in the interpreter since the previous calls.
    """

    type: ClassVar[str] = "script.called"
    call_id: str
    first: int
    calls: tuple[ToolCall, ...]
    snapshot: str = ""
    printed: str = ""
    duration_ms: int = 0

    @property
    def call_ids(self) -> tuple[str, ...]:
        """Ids of the calls, in order."""
        return tuple(f"{self.call_id}.{self.first + n}" for n in range(len(self.calls)))


@dataclass(frozen=True, slots=True)
class CallWaiting:
    """A tool call waits for the keys given, and the run releases its worker.

    Attributes:
        kind: Kind of the waits (``agents.journal.waits``).
        runs: Ids of the sub-agents' runs that the call waits for.
        question: Text of the tool's question to a person; the call runs again with the reply.
        form: JSON Schema of the reply; empty: the tool asked nothing.
        state: Text that the tool gets back with the reply.
    """

    type: ClassVar[str] = "call.waiting"
    call_id: str
    keys: tuple[str, ...]
    kind: str = "child"
    runs: tuple[str, ...] = ()
    question: str = ""
    form: dict[str, Any] = field(default_factory=dict)
    state: str = ""


@dataclass(frozen=True, slots=True)
class ChildStarted:
    """The run started a child run without a tool call, and waits for its end.

    Attributes:
        key: Key of the wait that the child's end resolves.
        run: Id of the child.
    """

    type: ClassVar[str] = "child.started"
    key: str
    run: str
    agent: str


@dataclass(frozen=True, slots=True)
class RunPaused:
    """The run waits without a worker until a time that its engine chose.

    Attributes:
        attempts: Failed attempts of the next step since the previous pause.
    """

    type: ClassVar[str] = "run.paused"
    key: str
    reason: str
    delay_seconds: float
    attempts: int = 0

    @property
    def wait(self) -> dict[str, Any]:
        """The wait that this event opens."""
        return waits.PAUSE.row(self.key, timeout_seconds=self.delay_seconds)


@dataclass(frozen=True, slots=True)
class WaitResolved:
    """A wait ended. Written by the join.

    Attributes:
        value: Holds at least ``subject`` and ``status``; ``other_person`` as in ``RunSteered``.
        kind: Kind of the wait (``agents.journal.waits``).
        call_id: Tool call that waited; empty: none.
    """

    type: ClassVar[str] = "wait.resolved"
    key: str
    value: dict[str, Any] = field(default_factory=dict)
    kind: str = ""
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class RunSteered:
    """A message to the running run; its next model call includes it. Written by the steer.

    Attributes:
        source: ``person`` (or a program) grants the run new turns; ``agent`` does not.
        other_person: True if the message is from another person than the run's: from here on the
            run and its tree act for no particular person.
    """

    type: ClassVar[str] = "run.steered"
    text: str
    by: str = ""
    source: Literal["person", "agent"] = "person"
    other_person: bool = False


@dataclass(frozen=True, slots=True)
class CancelRequested:
    """Cancellation of a running run was requested. Written by the cancel."""

    type: ClassVar[str] = "run.cancel_requested"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RunSucceeded:
    """The run ended with a final answer.

    Attributes:
        finish_reason: ``length`` if the answer was truncated at max_tokens.
        structured: Answer in the form of the agent's response schema, if the agent has one.
    """

    type: ClassVar[str] = "run.succeeded"
    output: str
    finish_reason: str = "stop"
    structured: Any = None


@dataclass(frozen=True, slots=True)
class RunFailed:
    """The run ended without a final answer.

    Attributes:
        kind: ``limit``, ``model``, ``output``, ``tool``, ``memory`` (another memory provider),
            ``definition`` or ``internal``.
        limit: Name of the limit, if kind is ``limit``.
        partial: The last text produced before the end.
    """

    type: ClassVar[str] = "run.failed"
    kind: str
    message: str
    limit: str = ""
    partial: str = ""


@dataclass(frozen=True, slots=True)
class RunCancelled:
    """The run was cancelled; the journal keeps its earlier events."""

    type: ClassVar[str] = "run.cancelled"
    reason: str = ""
    partial: str = ""


@dataclass(frozen=True, slots=True)
class RunQuarantined:
    """The run's workers crashed too often without progress. Written by the sweeper."""

    type: ClassVar[str] = "run.quarantined"
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class RunUnquarantined:
    """A quarantined run was resumed. Written by ``heartbit_revive``."""

    type: ClassVar[str] = "run.unquarantined"
    by: str = ""


@dataclass(frozen=True, slots=True)
class RunDiscarded:
    """A quarantined run was discarded. Written by ``heartbit_discard``."""

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
    | MemoriesRecalled
    | MemoriesExtracted
    | ApprovalRequested
    | ApprovalEscalated
    | ApprovalLapsed
    | OutcomeRequested
    | ToolStarted
    | ToolFinished
    | ScriptCalled
    | CallWaiting
    | ChildStarted
    | RunPaused
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
#: Events with which the loop ends a run.
Ending = RunSucceeded | RunFailed | RunCancelled
#: Events that end a run.
Closing = Ending | RunQuarantined | RunDiscarded
#: Events that open a wait, given by their ``wait``.
Opening = ApprovalRequested | OutcomeRequested | ModelDelayed | RunPaused

_CLASSES: dict[str, type[Event]] = {kind.type: kind for kind in Event.__args__}


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """An event with its sequence number and its time."""

    seq: int
    at: datetime
    event: Event


@functools.cache
def _adapter(kind: str) -> TypeAdapter[Event]:
    """Return the codec of a type, built on first use: a short command needs few of them."""
    return TypeAdapter(_CLASSES[kind])


def encode(event: Event) -> dict[str, Any]:
    """Return the stored form of an event: its type and a JSON payload."""
    return {"type": event.type, "payload": _adapter(event.type).dump_python(event, mode="json")}


def decode(kind: str, payload: dict[str, Any]) -> Event:
    """Return the event of a stored row.

    Raises:
        KeyError: The type is unknown to this version of Heartbit.
        pydantic.ValidationError: The payload does not fit the type.
    """
    return _adapter(kind).validate_python(payload)


def decode_row(row: dict[str, Any]) -> RecordedEvent:
    """Return the event of a row that a journal function returned: ``{seq, type, payload, at}``."""
    return RecordedEvent(
        seq=row["seq"],
        at=datetime.fromisoformat(row["at"]),
        event=decode(row["type"], row["payload"]),
    )
