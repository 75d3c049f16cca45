"""Journal entries of one tool call with an effect outside: its intent, and its result."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from agents.journal.events import ToolFinished, ToolStarted
from tools.result import ToolResult

if TYPE_CHECKING:
    from agents.loop.journaled import JournaledState
    from tools.pipeline import SuspendedCall


class CancelledFirstError(Exception):
    """The run was cancelled before the tool acted."""


class CallRecord:
    """Implementation of ``CallJournal`` for one call, which begins now.

    Attributes:
        is_settled: True once the tool's thread has journaled the result.
    """

    def __init__(
        self, journaled: JournaledState, call_id: str, effect: str, *, grant: int | None
    ) -> None:
        self.is_settled = False
        self._journaled = journaled
        self._call_id = call_id
        self._effect = effect
        self._grant = grant
        self._began = time.monotonic()

    def finished(self, done: ToolResult) -> ToolFinished:
        """Return the event of the call's result."""
        took = round((time.monotonic() - self._began) * 1000)
        return ToolFinished(
            self._call_id, done.status, done.content, self._effect, took, self._grant
        )

    async def intend(self) -> None:
        """Journal the intent.

        Raises:
            CancelledFirstError: The run was cancelled, so the intent was not journaled.
        """
        await self._journaled.record(ToolStarted(self._call_id, self._effect))
        if self._journaled.state.cancel_reason is not None:  # it was in the journal's tail
            raise CancelledFirstError

    def intend_here(self) -> None:
        """Journal the intent from the tool's thread; raises as ``intend``."""
        if not self._journaled.record_here(ToolStarted(self._call_id, self._effect)):
            raise CancelledFirstError

    def settle_here(self, done: ToolResult | SuspendedCall) -> None:
        """Journal the result from the tool's thread; a suspension is the engine's to journal."""
        if isinstance(done, ToolResult):
            self._journaled.record_here(self.finished(done))
            self.is_settled = True
