"""How the pure loop speaks to the world; ``agents.runtime`` provides each port.

Usage::

    outcome = await Slice(JournaledState(state, journal), definition, ports).run()
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from decimal import Decimal

    from agents.events import Ending, Event, Recorded, ToolFinished
    from agents.llm.messages import Message, StreamEvent, ToolCall, ToolDefinition, Usage
    from agents.llm.protocol import ChatModel
    from heartbit_site.base.toolspec import Suspension, WaitOutcome
    from tools.pipeline import Done, Waiting


@dataclass(frozen=True, slots=True)
class PendingSuspension:
    """A call that asked to wait, and what for."""

    call_id: str
    suspension: Suspension


@dataclass(frozen=True, slots=True)
class Settled:
    """The run's row changed as asked; the slice is over."""


@dataclass(frozen=True, slots=True)
class Moved:
    """Nothing was written: other writers were quicker. Fold these events and decide again."""

    tail: Sequence[Recorded]


class Journal(Protocol):
    """The lease's own writes. Every method raises ``LeaseLostError`` when the lease is lost."""

    async def record(self, *events: Event) -> Sequence[Recorded]:
        """Append events; return them, and others' before them, to be folded in order."""
        ...

    async def transact(
        self, body: Callable[[], Event], *, timeout_seconds: float
    ) -> Sequence[Recorded]:
        """Run ``body`` in a thread, in one database transaction with the event it returns.

        Returned like ``record``'s; without the event when the body took too long: it is shut out.
        """
        ...

    async def finish(self, ending: Ending, *events: Event) -> Settled | Moved:
        """Append ``events`` and the ending, and end the run, unless the journal moved."""
        ...

    async def suspend(self, *pending: PendingSuspension) -> Settled | Moved:
        """Create what the calls wait for and give the worker back, unless the journal moved."""
        ...


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

    async def invoke(
        self, call_id: str, call: ToolCall, intent: Callable[[], Awaitable[None]]
    ) -> Done | Waiting:
        """Run one call; ``intent`` is awaited right before an at-most-once tool acts."""
        ...

    def transaction(self, call_id: str, call: ToolCall) -> Callable[[], ToolFinished]:
        """A transactional call as a plain function for ``Journal.transact``."""
        ...

    def resume(self, call: ToolCall, outcomes: tuple[WaitOutcome, ...]) -> Done:
        """The result of a call whose waits are all resolved."""
        ...


class Live(Protocol):
    """The window: what streams while the run works. Best effort, never awaited by the loop."""

    def delta(self, turn: int, event: StreamEvent) -> None:
        """A piece of the model's answer."""
        ...

    def restarted(self, turn: int) -> None:
        """A model call begins; what readers saw of this turn before is void."""
        ...


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything outside the loop but the journal."""

    model: ChatModel
    toolbox: Toolbox
    live: Live
    cost: Callable[[str, Usage], Decimal | None]
