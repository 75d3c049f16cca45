"""Events of a run's tool calls, sub-agents and waits. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from agents.journal import waits
from agents.journal.events.event import Event
from agents.llm.messages import ToolCall

ToolStatus = Literal["ok", "error", "timeout", "invalid", "refused", "uncertain"]


@dataclass(frozen=True, slots=True)
class ToolStarted(Event):
    """Intent to run a tool with external effects, committed before the call."""

    type: ClassVar[str] = "tool.started"
    call_id: str
    effect: str


@dataclass(frozen=True, slots=True)
class ToolFinished(Event):
    """Result of a tool call; a journaled result is never computed again.

    Attributes:
        grant: Id of the standing permission that made an approval unnecessary.
        artifact: Name of the artifact that has the whole result, if ``content`` is only its
            beginning; empty: ``content`` is the whole result, or the rest was not stored.
        images: Addresses of images that the tool returned (``agents.llm.wrappers.pictured``).
    """

    type: ClassVar[str] = "tool.finished"
    call_id: str
    status: ToolStatus
    content: str
    effect: str = ""
    duration_ms: int = 0
    grant: int | None = None
    artifact: str = ""
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ScriptCalled(Event):
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
class CallWaiting(Event):
    """A tool call waits for the keys given, and the run releases its worker.

    Attributes:
        kind: Kind of the waits (``agents.journal.waits``).
        runs: Ids of the sub-agents' runs that the call waits for.
        question: Text of the tool's question to a person; the call runs again with the reply.
        form: JSON Schema of the reply; empty: the tool asked nothing.
        state: Text that the tool gets back with the reply, or when it is called again after a wait.
        group: Django group whose members may answer; empty: all who may decide in the workspace.
    """

    type: ClassVar[str] = "call.waiting"
    call_id: str
    keys: tuple[str, ...]
    kind: str = "child"
    runs: tuple[str, ...] = ()
    question: str = ""
    form: dict[str, Any] = field(default_factory=dict)
    state: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class ChildStarted(Event):
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
class WaitResolved(Event):
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
class ApprovalRequested(Event):
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
class ApprovalEscalated(Event):
    """A call was not decided in time: more people may decide. Written by the sweeper.

    Attributes:
        group: Group that may now decide, too; empty: anyone with the right to decide.
    """

    type: ClassVar[str] = "approval.escalated"
    call_id: str
    key: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalLapsed(Event):
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
class OutcomeRequested(Event):
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
