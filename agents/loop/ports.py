"""How the pure loop speaks to the world; ``agents.runtime`` provides each port.

Usage::

    outcome = await AgentEngine(JournaledState(state, journal), definition, ports, standing).run()
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from agents.journal.events import Opening

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from decimal import Decimal

    from agents.journal.events import (
        ApprovalLapsed,
        ApprovalRequested,
        Ending,
        Event,
        RecordedEvent,
        ToolFinished,
    )
    from agents.llm.messages import Message, StreamEvent, ToolCall, ToolDefinition, Usage
    from agents.llm.protocol import ChatModel
    from heartbit_site.base.toolspec import Suspension, WaitOutcome
    from tools.pipeline import PreparedCall, SuspendedCall
    from tools.result import ToolResult


@dataclass(frozen=True, slots=True)
class PendingSuspension:
    """A call that asked to wait, and what for."""

    call_id: str
    suspension: Suspension


Pending = PendingSuspension | Opening


@dataclass(frozen=True, slots=True)
class ApprovedCall:
    """What a person allowed.

    Attributes:
        digest: Of the call that may run; another one is refused.
        arguments: The arguments they wrote; None: as the model wrote them.
    """

    digest: str
    arguments: str | None = None


@dataclass(frozen=True, slots=True)
class Committed:
    """The run's row changed as asked; the slice is over."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Nothing was written: other writers were quicker. Fold these events and decide again."""

    tail: Sequence[RecordedEvent]


class Journal(Protocol):
    """The lease's own writes. Every method raises ``LeaseLostError`` when the lease is lost."""

    async def record(self, *events: Event) -> Sequence[RecordedEvent]:
        """Append events; return them, and others' before them, to be folded in order."""
        ...

    async def transact(
        self, body: Callable[[], Event], *, timeout_seconds: float
    ) -> Sequence[RecordedEvent]:
        """Run ``body`` in a thread, in one database transaction with the event it returns.

        Returned like ``record``'s; without the event when the body took too long (it is shut out)
        or the run was cancelled meanwhile (it is undone).
        """
        ...

    async def finish(self, ending: Ending, *events: Event) -> Committed | Conflict:
        """Append ``events`` and the ending, and end the run, unless the journal moved."""
        ...

    async def suspend(self, *pending: Pending) -> Committed | Conflict:
        """Create what the calls wait for and give the worker back, unless the journal moved."""
        ...


@dataclass(frozen=True, slots=True)
class ReadyCall:
    """A call that may act now.

    Attributes:
        prepared: Resolved, valid and allowed.
        grant: The standing permission without which a person would have been asked.
    """

    prepared: PreparedCall
    grant: int | None = None


class Toolbox(Protocol):
    """The tools of one run, behind the one invocation pipeline."""

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """What the model is offered, in a stable order."""
        ...

    def examples(self) -> tuple[Message, ...]:
        """Worked calls of these tools, for models that must be shown how."""
        ...

    def effect(self, name: str) -> str:
        """The effect class of the tool that ``name`` resolves to; empty when there is none."""
        ...

    async def prepare(
        self, call_id: str, call: ToolCall, approved: ApprovedCall | None
    ) -> ReadyCall | ToolResult | ApprovalRequested:
        """Everything before a call acts: it is ready, answered already, or a person is asked."""
        ...

    async def lapsed(self, call_id: str, key: str) -> ApprovalLapsed | None:
        """Why what people decided about a call does not let it run any more; None: it does."""
        ...

    async def execute(
        self, ready: ReadyCall, intent: Callable[[], Awaitable[None]]
    ) -> ToolResult | SuspendedCall:
        """Run a call; ``intent`` is awaited right before a tool acts outside."""
        ...

    def transaction(self, call_id: str, ready: ReadyCall) -> Callable[[], ToolFinished]:
        """A transactional call as a plain function for ``Journal.transact``."""
        ...

    def resume(self, call: ToolCall, outcomes: tuple[WaitOutcome, ...]) -> ToolResult:
        """The result of a call whose waits are all resolved."""
        ...


class LiveOutput(Protocol):
    """The window: what streams while the run works. Best effort, never awaited by the loop."""

    def delta(self, turn: int, event: StreamEvent) -> None:
        """A piece of the model's answer."""
        ...

    def restarted(self, turn: int) -> None:
        """A model call begins; what readers saw of this turn before is void."""
        ...


def _nothing() -> None:
    """Nobody needs to know."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything outside the loop but the journal.

    Attributes:
        model: The run's own model, with those it falls back on.
        cost: The price of usage; None: nobody knows it.
        strong: Takes over once the run's own model has given answers that do not do.
        settled: Called when a model call's usage is in the journal, or will never be.
    """

    model: ChatModel
    toolbox: Toolbox
    live: LiveOutput
    cost: Callable[[str, Usage], Decimal | None]
    strong: ChatModel | None = None
    settled: Callable[[], None] = _nothing
