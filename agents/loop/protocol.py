"""The engine of one slice of a run, as the runtime drives it: each kind of run has its own."""

from __future__ import annotations

from typing import Literal, Protocol

Outcome = Literal["succeeded", "failed", "cancelled", "suspended", "yielded"]


class Engine(Protocol):
    """Executes a run until it ends, suspends, or loses its lease.

    An engine decides from the folded journal alone, so a slice may begin wherever an earlier one
    died. Cancel the task that awaits ``run`` to stop it.
    """

    async def run(self) -> Outcome:
        """Work until the slice is over.

        Returns:
            What became of the run; ``yielded``: it is still held, and continues in another slice.

        Raises:
            LeaseLostError: Another worker has the run; nothing more may be written.
            HeartbitError: The run's definition cannot be executed.
            asyncio.CancelledError: The caller stops the slice.
        """
        ...

    async def record_interrupted(self) -> None:
        """Journal the cost of what was in flight when the slice was stopped.

        Raises:
            LeaseLostError: Another worker has the run.
            JournalAwayError: The journal could not be written.
        """
        ...
