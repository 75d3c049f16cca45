"""Journal entries of tool calls with external effects: their intents and results."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from agents.journal.events import Event, ToolFinished, ToolStarted
from agents.loop.journaled import JournaledState
from tools.calls.result import ToolResult

if TYPE_CHECKING:
    from tools.calls.pipeline import SuspendedCall

ARRIVE_SECONDS: Final = 0.05  # longest wait for the threads of a batch, which were just free
#: Maximum age of the journal's answer; after that the run may have been cancelled since.
FRESH_SECONDS: Final = 0.02
MOST_LOOKS: Final = 4  # after that the call begins on an older answer
LINGER_SECONDS: Final = 0.002  # wait of a result for the results of the same batch


class CancelledFirstError(Exception):
    """The run was cancelled before the tool acted."""


class CallBatch:
    """Calls of one turn that begin together, each in a thread of its own.

    One write journals all intents, once every call has its thread; then all calls act at once.
    Results that arrive at about the same time share a write, too. A failed write is never repeated,
    since it may have been committed: it fails every call that was part of it.
    """

    def __init__(self, journaled: JournaledState[Any], size: int) -> None:
        self._journaled = journaled
        self._intents: list[Event] = []
        self._is_written = False
        self._error: BaseException | None = None
        self._arrival = threading.Barrier(size, self._write_intents, ARRIVE_SECONDS)
        self._results: list[Event] = []
        self._failed: list[Event] = []
        self._at_work = size
        self._change = threading.Condition()

    def intend(self, intent: Event) -> bool:
        """Journal an intent together with the others'; return False if a cancel came first."""
        self._intents.append(intent)
        try:
            self._arrival.wait()
        except threading.BrokenBarrierError:  # a call has no thread yet, or the write failed
            if self._error is not None:
                raise self._error from None
            return self._journaled.record_here(intent)
        return self._is_written

    def _write_intents(self) -> None:
        self._is_written = self._write(self._intents)

    def _write(self, events: list[Event]) -> bool:
        try:
            return self._journaled.record_here(*events)
        except BaseException as error:
            self._error = error
            self._failed += events
            raise

    def settle(self, result: Event | None) -> None:
        """Journal a result, perhaps together with others'; None: the call has none yet."""
        with self._change:
            self._at_work -= 1
            if result is None:
                return
            self._results.append(result)
            if self._at_work:
                self._change.wait_for(lambda: result not in self._results, LINGER_SECONDS)
            if result in self._results:
                results, self._results = self._results, []
                self._change.notify_all()
                self._write(results)
            elif self._error is not None and result in self._failed:
                raise self._error


class CallRecord:
    """Implementation of ``CallJournal`` for one call that is about to begin.

    Attributes:
        is_settled: True once the tool's thread has journaled the result.
    """

    def __init__(
        self,
        journaled: JournaledState[Any],
        call_id: str,
        effect: str,
        *,
        grant: int | None,
        batch: CallBatch,
        store: Callable[[ToolResult], ToolResult],
    ) -> None:
        self.is_settled = False
        self._journaled = journaled
        self._call_id = call_id
        self._effect = effect
        self._grant = grant
        self._batch = batch
        self._store = store
        self._began = time.monotonic()

    def finished(self, done: ToolResult) -> ToolFinished:
        """Return the event of the call's result."""
        took = round((time.monotonic() - self._began) * 1000)
        return ToolFinished(
            self._call_id,
            done.status,
            done.content,
            self._effect,
            took,
            self._grant,
            done.artifact,
            done.images,
        )

    async def intend(self) -> None:
        """Journal the intent.

        Raises:
            CancelledFirstError: The run was cancelled, so the intent was not journaled.
        """
        asked_at = time.monotonic()
        await self._journaled.record(ToolStarted(self._call_id, self._effect))
        for _ in range(MOST_LOOKS):
            if self._journaled.state.cancel_reason is not None:  # found in the journal's tail
                raise CancelledFirstError
            if time.monotonic() - asked_at < FRESH_SECONDS:
                return
            # The answer is old, as on a busy loop: the run may have been cancelled since.
            asked_at = time.monotonic()
            await self._journaled.record()

    def intend_here(self) -> None:
        """Journal the intent from the tool's thread; raises as ``intend``."""
        asked_at = time.monotonic()
        goes_on = self._batch.intend(ToolStarted(self._call_id, self._effect))
        for _ in range(MOST_LOOKS):
            if not goes_on:
                raise CancelledFirstError
            if time.monotonic() - asked_at < FRESH_SECONDS:
                return
            asked_at = time.monotonic()
            goes_on = not self._journaled.is_cancelled_here()

    def settle_here(self, done: ToolResult | SuspendedCall) -> None:
        """Journal the result from the tool's thread; a suspension is the engine's to journal."""
        if isinstance(done, ToolResult):
            self._batch.settle(self.finished(self._store(done)))
            self.is_settled = True
        else:
            self._batch.settle(None)
