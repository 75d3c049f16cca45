"""Events of a run's model: its answers, pauses, summaries and memories. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from agents.journal import waits
from agents.journal.events.event import Event
from agents.llm.messages import AssistantMessage, Usage


@dataclass(frozen=True, slots=True)
class ModelAnswered(Event):
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
class ModelInterrupted(Event):
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
class ModelDelayed(Event):
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
class ContextSummarized(Event):
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
class MemoriesRecalled(Event):
    """The run's model is given memories; their texts are rows, which are erased with them.

    Attributes:
        memories: Their ids, the best first.
        provided: Number of texts by another provider, which have no ids here.
        provider: Name of that provider; empty: none.
        from_outsiders: True if one of these texts may repeat what outsiders wrote.
    """

    type: ClassVar[str] = "memories.recalled"
    memories: tuple[int, ...]
    provided: int = 0
    provider: str = ""
    from_outsiders: bool = False


@dataclass(frozen=True, slots=True)
class MemoriesExtracted(Event):
    """The run has stored memories of another run; written in the transaction that stores them.

    Attributes:
        added: Ids of the new ones.
        replaced: Ids of those that say something else now.
        skipped: Number of proposals that were not stored: known already, or said nowhere.
        provided: Number of texts that another provider took instead.
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
