"""Events of a run's life: accepted, started, paused, steered, ended. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from agents.journal import waits
from agents.journal.events.event import Event
from agents.llm.messages import ToolCall
from heartbit_site.base.review_policy import ReviewPolicy


@dataclass(frozen=True, slots=True)
class RunCreated(Event):
    """The run was accepted. Written by the database function that inserts its row.

    Attributes:
        kind: Name of the engine that executes the run (``agents.runtime.execution.engines``).
        call: The call that a run of the kind ``tool_call`` executes; its id in the journal is
            ``0.0``.
        response_schema: Response schema in place of the agent's own; None: the agent's own.
        may_delegate: True for a child that delegates to its team: only a workflow's.
        thread: Earlier messages that a client has sent along, each {task, output, steers} as those
            of a conversation's runs, and images if the task has some.
        images: Images beside the task, as data URLs, or as addresses of the run's artifacts
            (``agents.runtime.files.pictures``).
        client: Data that the client's protocol returns with the run.
        client_tools: Tools that the client runs itself, each {name, description, parameters}.
        review: Review of the result before it is delivered; None: no one reviews it.
        traceparent: Trace and span of the request for a root run, in W3C's form; empty: none.
    """

    type: ClassVar[str] = "run.created"
    task: str
    agent: str
    kind: str = "agent"
    call: ToolCall | None = None
    response_schema: dict[str, Any] | None = None
    may_delegate: bool = False
    thread: tuple[dict[str, Any], ...] = ()
    images: tuple[str, ...] = ()
    client: dict[str, Any] = field(default_factory=dict)
    client_tools: tuple[dict[str, Any], ...] = ()
    review: ReviewPolicy | None = None
    traceparent: str = ""


@dataclass(frozen=True, slots=True)
class RunForked(Event):
    """Marks the fork point: earlier events were copied from the source run's journal.

    Attributes:
        seq: The last event that was copied.
        turn: The last turn that was copied; with replaced arguments its calls run again.
        edits: Changes relative to the source: ``task``, ``call``, ``arguments``, ``result``,
            ``message``, ``version``, ``state``.
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
class RunStarted(Event):
    """A worker claimed the run and began a slice. Written by the claim.

    ``sandbox`` names the worker's sandbox for code; empty: none, or not probed.
    """

    type: ClassVar[str] = "run.started"
    worker: str
    task_id: str
    model: str
    sandbox: str = ""


@dataclass(frozen=True, slots=True)
class RunRequeued(Event):
    """The run went back to the queue: worker lost, worker drained, or slice time used up."""

    type: ClassVar[str] = "run.requeued"
    reason: str


@dataclass(frozen=True, slots=True)
class RunPaused(Event):
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
class RunSteered(Event):
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
class CancelRequested(Event):
    """Cancellation of a running run was requested. Written by the cancel."""

    type: ClassVar[str] = "run.cancel_requested"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RunSucceeded(Event):
    """The run ended with a final answer.

    Attributes:
        finish_reason: ``length`` if the answer was truncated at max_tokens.
        structured: Answer in the form of the agent's response schema, if the agent has one.
        left_out: Sentence on what failed and is not part of the output; empty: nothing.
        reviewed_by: Person who approved the result; empty: no one reviewed it.
        is_edited: True if that person changed the result.
    """

    type: ClassVar[str] = "run.succeeded"
    output: str
    finish_reason: str = "stop"
    structured: Any = None
    left_out: str = ""
    reviewed_by: str = ""
    is_edited: bool = False


@dataclass(frozen=True, slots=True)
class RunFailed(Event):
    """The run ended without a final answer.

    Attributes:
        kind: ``limit``, ``model``, ``output``, ``tool``, ``memory`` (another memory provider),
            ``review``, ``definition`` or ``internal``.
        limit: Name of the limit, if kind is ``limit``.
        partial: The last text produced before the end; empty if people review the run's result.
    """

    type: ClassVar[str] = "run.failed"
    kind: str
    message: str
    limit: str = ""
    partial: str = ""


@dataclass(frozen=True, slots=True)
class RunCancelled(Event):
    """The run was cancelled; the journal keeps its earlier events."""

    type: ClassVar[str] = "run.cancelled"
    reason: str = ""
    partial: str = ""


@dataclass(frozen=True, slots=True)
class RunQuarantined(Event):
    """The run's workers crashed too often without progress. Written by the sweeper."""

    type: ClassVar[str] = "run.quarantined"
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class RunUnquarantined(Event):
    """A quarantined run was resumed. Written by ``heartbit_revive``."""

    type: ClassVar[str] = "run.unquarantined"
    by: str = ""


@dataclass(frozen=True, slots=True)
class RunDiscarded(Event):
    """A quarantined run was discarded. Written by ``heartbit_discard``."""

    type: ClassVar[str] = "run.discarded"
    by: str = ""


@dataclass(frozen=True, slots=True)
class RunRestored(Event):
    """The run was in flight in a backup, and is held. Written by ``heartbit restore``.

    Attributes:
        made_at: Time of the backup, in ISO 8601.
    """

    type: ClassVar[str] = "run.restored"
    made_at: str = ""


@dataclass(frozen=True, slots=True)
class RunReleased(Event):
    """A person released a run that was held since a restore. Written by ``release_tree``."""

    type: ClassVar[str] = "run.released"
    by: str = ""


#: Events with which the loop ends a run.
Ending = RunSucceeded | RunFailed | RunCancelled
#: Events that end a run.
Closing = Ending | RunQuarantined | RunDiscarded
