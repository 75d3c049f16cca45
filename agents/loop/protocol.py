"""Interface between the runtime and the engine of a slice; each kind of run has its own engine."""

from __future__ import annotations

from typing import Literal, Protocol

Outcome = Literal["succeeded", "failed", "cancelled", "suspended", "yielded"]


class Engine(Protocol):
    """Executor of a run until it ends, suspends, or loses its lease.

    An engine decides from the folded journal alone, so a slice may begin wherever an earlier one
    crashed. Cancel the task that awaits ``run`` to stop it.
    """

    async def run(self) -> Outcome:
        """Run until the slice is over.

        Returns:
            Outcome of the slice; ``yielded``: the run is still held and continues in another slice.

        Raises:
            LeaseLostError: Another worker has claimed the run; nothing more may be written.
            HeartbitError: The run's definition cannot be executed.
            asyncio.CancelledError: The caller stops the slice.
        """
        ...

    async def record_interrupted(self) -> None:
        """Journal the cost of the call in flight when the slice was stopped.

        Raises:
            LeaseLostError: Another worker has claimed the run.
            JournalAwayError: The journal could not be written.
        """
        ...
