"""Interfaces between the pure loop and its environment; ``agents.runtime`` implements each port.

Usage::

    outcome = await AgentEngine(JournaledState(state, journal), definition, ports, standing).run()
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Protocol

from agents.journal.events import (
    ApprovalLapsed,
    ApprovalRequested,
    Ending,
    Event,
    Opening,
    RecordedEvent,
    ScriptCalled,
    ToolFinished,
)
from agents.llm.messages import Message, StreamEvent, ToolCall, ToolDefinition, Usage
from agents.llm.protocol import ChatModel
from heartbit_site.base.suspensions import ChildTask, QuestionReply, Suspension, WaitOutcome
from tools.scripts.steps import EndedScript, PausedScript

if TYPE_CHECKING:
    from tools.calls.pipeline import CallJournal, PreparedCall, SuspendedCall
    from tools.calls.result import ToolResult


@dataclass(frozen=True, slots=True)
class PendingSuspension:
    """A call that suspends, with the waits it requests.

    Attributes:
        number: Number of the call's question, if the call asks one.
    """

    call_id: str
    suspension: Suspension
    number: int = 1


@dataclass(frozen=True, slots=True)
class PendingChildren:
    """Child runs that a run starts without a tool call and then waits for.

    Attributes:
        timeout_seconds: Time after which unfinished children are cancelled; None: never.
    """

    children: tuple[ChildTask, ...]
    timeout_seconds: float | None = None

    def __post_init__(self) -> None:
        """Reject a wait that nothing would end."""
        if not self.children:
            raise ValueError("A run that waits for children names at least one.")


Pending = PendingSuspension | PendingChildren | Opening


@dataclass(frozen=True, slots=True)
class UnpricedModel:
    """A model of unknown price in a run under a limit in US dollars.

    Attributes:
        text: The problem as a sentence.
        asks: True if an owner may let the run go on; False: the run fails.
    """

    text: str
    asks: bool


@dataclass(frozen=True, slots=True)
class ApprovedCall:
    """A call as a person approved it.

    Attributes:
        digest: Digest of the approved call; any other call is refused.
        arguments: Arguments as the person edited them; None: unchanged.
    """

    digest: str
    arguments: str | None = None


@dataclass(frozen=True, slots=True)
class Committed:
    """The run's row changed as requested; the slice is over."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Nothing was written because other events came first: fold them and decide again."""

    tail: Sequence[RecordedEvent]


class Journal(Protocol):
    """Journal writes of the lease. Every method raises ``LeaseLostError`` if the lease is lost."""

    async def record(self, *events: Event) -> Sequence[RecordedEvent]:
        """Append events; return them after those of other writers, to be folded in order."""
        ...

    def record_here(self, folded: int, *events: Event) -> Sequence[RecordedEvent]:
        """Append events from a thread; ``folded`` is the last event that is folded.

        Parallel writers may each return the same events of others.
        """
        ...

    def committed(self, seq: int) -> None:
        """Learn that the journal is committed and folded up to this event."""
        ...

    async def transact(
        self, body: Callable[[], Event], *, timeout_seconds: float
    ) -> Sequence[RecordedEvent]:
        """Run ``body`` in a thread, in one database transaction with the event it returns.

        Return events like ``record``. The event is missing if the body timed out (its commit is
        prevented) or the run was cancelled meanwhile (the transaction is rolled back).
        """
        ...

    async def finish(self, ending: Ending, *events: Event) -> Committed | Conflict:
        """Append ``events`` and the ending and end the run, unless the journal has moved on."""
        ...

    async def begin_waits(self, *pending: Pending) -> Sequence[RecordedEvent] | Conflict:
        """Create the waits and keep the worker, unless the journal has moved on.

        Return events like ``record``. The children begin at once.
        """
        ...

    async def suspend(
        self, *pending: Pending, first: Sequence[Event] = (), wake_at: int = 0
    ) -> Committed | Conflict:
        """Create the waits and release the worker, unless the journal has moved on.

        Args:
            pending: Waiting calls, or other waits of the run's own.
            first: Events to journal before, such as the answer that made the calls.
            wake_at: Number of open waits, of this and earlier suspensions, at which the run
                continues.
        """
        ...


@dataclass(frozen=True, slots=True)
class ReadyCall:
    """A call that may run now.

    Attributes:
        prepared: The call, resolved, validated and allowed.
        grant: Id of the standing permission that replaced an approval.
    """

    prepared: PreparedCall
    grant: int | None = None


class Toolbox(Protocol):
    """Tools of one run, behind the one invocation pipeline."""

    def definitions(self, *, with_artifacts: bool = False) -> tuple[ToolDefinition, ...]:
        """Return the tools that the model is offered, in a stable order.

        Args:
            with_artifacts: True if the run has stored results that are read in parts.
        """
        ...

    def examples(self) -> tuple[Message, ...]:
        """Return example calls of these tools, for models that need examples."""
        ...

    def effect(self, name: str) -> str:
        """Return the effect class of the tool that ``name`` resolves to, or an empty string."""
        ...

    async def prepare(
        self,
        call_id: str,
        call: ToolCall,
        approved: ApprovedCall | None,
        reply: QuestionReply | None = None,
    ) -> ReadyCall | ToolResult | ApprovalRequested:
        """Check a call; return the ready call, a result, or an approval request."""
        ...

    async def lapsed(self, call_id: str, key: str) -> ApprovalLapsed | None:
        """Return why the decision about a call is no longer valid; None: it is valid."""
        ...

    @property
    def free_threads(self) -> int:
        """Number of calls that would have a thread at once."""
        ...

    def acts_in_thread(self, ready: ReadyCall) -> bool:
        """Return True if the call is a plain function with an effect outside."""
        ...

    async def connect(self, ready: ReadyCall) -> ReadyCall | ToolResult:
        """Connect to what a call needs, before its intent; return the call, or the failure."""
        ...

    async def execute(self, ready: ReadyCall, journal: CallJournal) -> ToolResult | SuspendedCall:
        """Run a call; ``journal`` records an external effect."""
        ...

    def transaction(self, call_id: str, ready: ReadyCall) -> Callable[[], ToolFinished]:
        """Return a transactional call as a plain function for ``Journal.transact``."""
        ...

    def store(self, call_id: str, name: str, done: ToolResult) -> ToolResult:
        """Store the whole of a result that is longer than the model sees, from a tool's thread.

        Shorter results are returned unchanged. The artifact is stored before the result is
        journaled, so an artifact that the journal names always exists.

        Raises:
            JournalAwayError: The artifact could not be written.
        """
        ...

    async def store_from_loop(self, call_id: str, name: str, done: ToolResult) -> ToolResult:
        """Store the whole of a result as ``store`` does, from the loop."""
        ...

    def is_script(self, ready: ReadyCall) -> bool:
        """Return True if the call runs a script that makes calls of its own."""
        ...

    async def advance_script(
        self, ready: ReadyCall, rounds: Sequence[ScriptCalled], results: Mapping[str, ToolFinished]
    ) -> PausedScript | EndedScript:
        """Advance a script to its next calls, or to its end.

        Args:
            ready: The call that runs it.
            rounds: Calls that the script made so far.
            results: Their results, by call id.
        """
        ...

    def resume(self, call: ToolCall, outcomes: tuple[WaitOutcome, ...]) -> ToolResult:
        """Return the result of a call whose waits are all resolved."""
        ...


class LiveOutput(Protocol):
    """Live output of the run. Best effort, never awaited by the loop."""

    def delta(self, turn: int, event: StreamEvent) -> None:
        """Publish a piece of the model's answer."""
        ...

    def restarted(self, turn: int) -> None:
        """Begin a model call; text published for this turn before is discarded."""
        ...


def _nothing() -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Environment of the loop, without the journal.

    Attributes:
        cost: Returns the price of usage in US dollars; None: unknown.
        strong_model: Stronger model, used after several unusable answers of the run's own.
        settled: Called when a model call's usage is in the journal, or never will be.
        journaling: Surrounds the journal write of a model's answer.
        known: Block of memories for the model; empty: none.
        unpriced: Set if the price of ``model`` is unknown and a limit in US dollars applies.
    """

    model: ChatModel
    toolbox: Toolbox
    live: LiveOutput
    cost: Callable[[str, Usage], Decimal | None]
    strong_model: ChatModel | None = None
    settled: Callable[[], None] = _nothing
    journaling: Callable[[], AbstractContextManager[None]] = nullcontext
    known: str = ""
    unpriced: UnpricedModel | None = None
