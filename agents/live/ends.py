"""Waiters for the ends of runs: notified by push, and by one query a second for all of them.

Postgres has every end; a push only arrives sooner. So a lost push delays an end by at most a
second::

    with ends.waiter(run_id) as waiter:
        await waiter.attended()         # from here on no push is missed
        ...                             # the run may have ended before: look once
        end = await waiter.end()
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final
from uuid import UUID

from agents.choices import TERMINAL
from agents.errors import RunNotFoundError
from agents.runs.live_entries import RunEnd
from heartbit_site.base import orm
from heartbit_site.base.query import fetch_all

logger = logging.getLogger(__name__)

#: Interval between two queries for all waiters that have waited this long.
LOOK_SECONDS = 1.0
# For a run that has not ended only the status is read, as its output may be long.
_LOOK: Final = """
    SELECT id, status,
           CASE WHEN status = ANY(%(final)s) THEN output END,
           CASE WHEN status = ANY(%(final)s) THEN structured END,
           CASE WHEN status = ANY(%(final)s) THEN error END
    FROM agents_run WHERE id = ANY(%(ids)s)
"""


class Waiter:
    """One waiter for the end of one run, on the loop of its ``Ends``."""

    def __init__(self, ends: Ends, run_id: UUID) -> None:
        self.run_id = run_id
        self.told: asyncio.Future[RunEnd | None] = asyncio.get_running_loop().create_future()
        self._ends = ends

    async def attended(self) -> None:
        """Wait until pushes can be received; give up soon if they cannot be received now."""
        await self._ends.attend(self.run_id)

    async def end(self) -> RunEnd:
        """Wait for the run's end and return it.

        Raises:
            RunNotFoundError: The run does not exist or was deleted.
        """
        end = await asyncio.shield(self.told)  # a caller that gave up may return
        if end is None:  # too large for a push
            end = (await orm.read_in_thread(lambda: look([self.run_id]))).get(self.run_id)
        if end is None:
            raise missing(self.run_id)
        return end

    def forget(self) -> None:
        """Stop waiting: the end is no longer queried."""
        if not self.told.cancel() and not self.told.cancelled():
            self.told.exception()


class Ends:
    """The waiters of one loop, by run.

    Here, a push is a call of ``tell``; a subclass may have to listen for pushes.

    Attributes:
        recalls: True if a waiter is also notified of an end that preceded it.
    """

    recalls = False

    def __init__(self) -> None:
        self._waiting: dict[UUID, set[Waiter]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._looking: asyncio.Task[None] | None = None

    @contextmanager
    def waiter(self, run_id: UUID) -> Iterator[Waiter]:
        """Let a caller wait for the run's end within the block."""
        waiter = Waiter(self, run_id)
        waiters = self._waiting.setdefault(run_id, set())
        waiters.add(waiter)
        self._came(run_id)
        self._wind()
        try:
            yield waiter
        finally:
            waiters.discard(waiter)
            waiter.forget()
            if not waiters:
                del self._waiting[run_id]
                self._left(run_id)
            if not self._waiting and self._timer is not None:
                self._timer.cancel()
                self._timer = None

    async def result(self, run_id: UUID) -> RunEnd:
        """Return the end of a run once it has ended.

        Raises:
            RunNotFoundError: The run does not exist or was deleted.
        """
        with self.waiter(run_id) as waiter:
            await waiter.attended()
            if not self.recalls and not waiter.told.done():
                end = (await orm.read_in_thread(lambda: look([run_id]))).get(run_id)
                if end is None:
                    raise missing(run_id)
                if end.status in TERMINAL:
                    return end
            return await waiter.end()

    def tell(self, run_id: UUID, end: RunEnd | None) -> None:
        """Notify the run's waiters of its end; None lets them read it from Postgres."""
        for waiter in self._waiting.get(run_id, ()):
            if not waiter.told.done():
                waiter.told.set_result(end)

    async def attend(self, run_id: UUID) -> None:
        """Wait until pushes about the run can be received."""

    def _came(self, run_id: UUID) -> None:
        """Listen for pushes about a run that gained a waiter."""

    def _left(self, run_id: UUID) -> None:
        """Stop listening for pushes about a run that has no waiters left."""

    def _wind(self) -> None:
        """Schedule the next query while there are waiters."""
        if self._waiting and self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(LOOK_SECONDS, self._begin_look)

    def _begin_look(self) -> None:
        self._timer = None
        self._wind()
        if self._looking is None:
            self._looking = asyncio.ensure_future(self._look())
            self._looking.add_done_callback(self._end_look)

    def _end_look(self, task: asyncio.Task[None]) -> None:
        self._looking = None
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.warning("ends of runs cannot be looked up (%s)", str(error).strip())

    async def _look(self) -> None:
        """Query the ends for all waiters at once."""
        asked = self._pending()
        if not asked:
            return
        found = await orm.read_in_thread(lambda: look(asked))
        for run_id in asked:
            end = found.get(run_id)
            if end is None:
                self._refuse(run_id)
            elif end.status in TERMINAL:
                self.tell(run_id, end)

    def _pending(self) -> list[UUID]:
        return [
            run_id
            for run_id, waiters in self._waiting.items()
            if any(not waiter.told.done() for waiter in waiters)
        ]

    def _refuse(self, run_id: UUID) -> None:
        for waiter in self._waiting.get(run_id, ()):
            if not waiter.told.done():
                waiter.told.set_exception(missing(run_id))


def look(run_ids: Sequence[UUID]) -> dict[UUID, RunEnd]:
    """Return the state of runs by id; for a run that has not ended, only its status."""
    # Plain SQL: a query set of forty columns would cost more than the rest of a wait.
    values = {"ids": list(run_ids), "final": sorted(TERMINAL)}
    rows = fetch_all(_LOOK, values, prepare=True)
    return {
        run_id: RunEnd(run_id, status, output, _loaded(structured), _loaded(error))
        for run_id, status, output, structured, error in rows
    }


def missing(run_id: UUID) -> RunNotFoundError:
    """Return the error for a missing run."""
    return RunNotFoundError(f"There is no run {run_id}.")


def _loaded(column: str | None) -> Any:
    return None if column is None else json.loads(column)  # Django returns it as text
