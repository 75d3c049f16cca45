"""Waiters for the ends of runs: notified by push, and by one query a second for all of them.

Postgres has every end; a push only comes sooner. So a lost one costs at most a second::

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

#: Between two looks in Postgres for all waiters, who have waited for as long.
LOOK_SECONDS = 1.0
# Of a run that has not ended only the state is read: its output may be long.
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
        """Wait until a push would be heard; not long, if none can be heard now."""
        await self._ends.attend(self.run_id)

    async def end(self) -> RunEnd:
        """Wait for the run's end and return it.

        Raises:
            RunNotFoundError: The run does not exist (any more).
        """
        end = await asyncio.shield(self.told)  # a caller that gives up may come back
        if end is None:  # too long for a push
            end = (await orm.read_in_thread(lambda: look([self.run_id]))).get(self.run_id)
        if end is None:
            raise missing(self.run_id)
        return end

    def forget(self) -> None:
        """Stop waiting: the end is not asked for any more."""
        if not self.told.cancel() and not self.told.cancelled():
            self.told.exception()


class Ends:
    """The waiters of one loop, by run.

    Here a push is a call of ``tell``; a subclass may have to listen for them.

    Attributes:
        recalls: True if a waiter is also notified of an end before it came.
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
        """Tell the run's waiters that it has ended; None: Postgres knows how."""
        for waiter in self._waiting.get(run_id, ()):
            if not waiter.told.done():
                waiter.told.set_result(end)

    async def attend(self, run_id: UUID) -> None:
        """Wait until a push about the run would be heard."""

    def _came(self, run_id: UUID) -> None:
        """Listen for pushes about a run, which has one waiter more."""

    def _left(self, run_id: UUID) -> None:
        """Stop listening for pushes about a run, which has no waiter any more."""

    def _wind(self) -> None:
        """Schedule the next look in Postgres, while there are waiters."""
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
        """Look in Postgres for all who wait, in one query."""
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
    """Return what Postgres says of runs, by id; of one that has not ended the status alone."""
    # Plain SQL: a query set of forty columns costs more than the rest of a wait.
    values = {"ids": list(run_ids), "final": sorted(TERMINAL)}
    rows = fetch_all(_LOOK, values, prepare=True)
    return {
        run_id: RunEnd(run_id, status, output, _loaded(structured), _loaded(error))
        for run_id, status, output, structured, error in rows
    }


def missing(run_id: UUID) -> RunNotFoundError:
    """Return the error of a run that is not there."""
    return RunNotFoundError(f"There is no run {run_id}.")


def _loaded(column: str | None) -> Any:
    return None if column is None else json.loads(column)  # Django leaves it as text
