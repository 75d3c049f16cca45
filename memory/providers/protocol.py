"""The protocol of a memory provider that replaces Heartbit's own memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID


@dataclass(frozen=True, slots=True)
class MemoryContext:
    """The run for which a provider is called.

    Attributes:
        run_id: Idempotency key of ``after``, which may be called again for the same run.
        workspace_id: Texts of one workspace must never reach another.
        agent: The agent's name.
        user_id: The person behind the run; None without a person.
        conversation_id: The run's conversation; None without one.
    """

    run_id: UUID
    workspace_id: int
    agent: str
    user_id: int | None
    conversation_id: UUID | None


@dataclass(frozen=True, slots=True)
class ProvidedText:
    """A text for a run's model.

    Attributes:
        text: One statement.
        source: Its provenance in words, which the model reads too: ``profile, learned 2026-05-01``.
        why: Reason why the provider chose it, for people.
        from_outsiders: True if it may repeat what outsiders wrote. Together with private data, it
            makes the run ask for approval before it sends data outside.
    """

    text: str
    source: str
    why: str = ""
    from_outsiders: bool = True


@dataclass(frozen=True, slots=True)
class Said:
    """Something that was said in a run.

    Attributes:
        by: ``person`` or ``agent``.
        turn: Turn of the run: the model read it there, or answered it.
    """

    by: str
    text: str
    turn: int


class MemoryProvider(Protocol):
    """A memory provider; ``HEARTBIT_MEMORY_PROVIDER`` names its class.

    A process creates one object, without arguments, and calls it in threads, several at a time.
    Any exception is a failure; its message is not logged, since it may contain personal text.
    """

    def before(self, run: MemoryContext, task: str) -> Sequence[ProvidedText]:
        """Return texts that help a run with its task, the best first.

        A run waits ``calls.BEFORE_SECONDS`` at most; after a failure, it receives no texts.

        Args:
            run: The run, whose model has not been asked yet.
            task: The first 2,000 characters of its task.
        """
        ...

    def after(self, run: MemoryContext, said: Sequence[Said]) -> None:
        """Receive what was said in a successful run, at least once.

        Args:
            run: The run in which it was said.
            said: Words of its person or program, and the agent's answers unless these may repeat
                outsiders.
        """
        ...

    def erase(self, workspace_id: int, user_id: int, agent: str) -> None:
        """Permanently delete everything about a person; it may already be deleted.

        Args:
            workspace_id: Texts of other workspaces are kept.
            user_id: The person.
            agent: Name of the only agent whose memories are deleted; empty: all agents.
        """
        ...
