"""Execution of one slice of a claimed run, including its failures."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import psycopg
from pydantic import ValidationError

from agents.errors import JournalAwayError, LeaseLostError
from agents.journal.events import RunFailed
from agents.loop import checkpoint
from agents.runs.lease import Child
from agents.runtime.engines import ENGINES, EngineDependencies
from heartbit_site.base.errors import HeartbitError

if TYPE_CHECKING:
    from agents.loop.protocol import Engine
    from agents.runs.pool import Pool
    from agents.runtime.active_run import ActiveRun
    from agents.runtime.dependencies import RuntimeDependencies
    from agents.runtime.stopped_tools import StoppedTools

logger = logging.getLogger(__name__)

DATABASE_RETRY_SECONDS = 0.5
TOO_OLD_DELAY_SECONDS = 5.0
CHECKPOINT_EVENTS = 200  # events since the last checkpoint that make a new one worthwhile


class SliceRunner:
    """Runner of slices."""

    def __init__(self, pool: Pool, outside: RuntimeDependencies, stopped: StoppedTools) -> None:
        self._pool = pool
        self._outside = outside
        self._sources = EngineDependencies(pool, outside, stopped)

    async def work(self, held: ActiveRun) -> str:
        """Run until the slice is over and return its outcome.

        Raises:
            LeaseLostError: Another worker has claimed the run.
            asyncio.CancelledError: Celery stopped the task; the run is queued again.
        """
        try:
            return await self._work(held)
        except (JournalAwayError, psycopg.Error) as error:
            logger.warning("run %s: the database is away (%s)", held.claimed.id, error)
            return await self._outlast(held)

    async def _work(self, held: ActiveRun) -> str:
        unreadable = await self._fold(held)
        if unreadable:
            return unreadable
        build = ENGINES.get(held.claimed.kind)
        if build is None:
            return await self._leave_to_newer(held, f"is of the kind {held.claimed.kind}")
        engine: Engine | None = None
        try:
            engine = await build(held, self._sources)
            outcome = await engine.run()
        except asyncio.CancelledError:
            return await self._stopped(held, engine)
        except (LeaseLostError, JournalAwayError, psycopg.Error):
            raise
        except HeartbitError as error:
            # The definition cannot be executed, and a further attempt would not change that.
            return await self._failed(held, "definition", str(error))
        except Exception as error:
            logger.exception("run %s failed inside Heartbit", held.claimed.id)
            message = f"An internal error ({type(error).__name__}) ended the run: see the log."
            return await self._failed(held, "internal", message)
        if outcome == "yielded":
            return await self._hand_over(held, held.standing.yields)
        if outcome == "suspended":
            self._outside.doorbell.suspended(Child(held.claimed.id, held.claimed.queue))
            await self._checkpoint(held)
        return outcome

    async def _fold(self, held: ActiveRun) -> str:
        """Fold the journal; return the slice's outcome if that fails, else an empty string."""
        state = held.journaled.state
        try:
            history = held.claimed.history()
        except (KeyError, ValidationError) as error:
            return await self._leave_to_newer(held, f"has news from a newer Heartbit ({error})")
        try:
            for recorded in history:
                state.fold(recorded)
        except (KeyError, ValueError) as error:
            logger.exception("the journal of run %s contradicts itself", held.claimed.id)
            # Through the lease, because the fold failed; the run cannot continue.
            message = f"The run's journal contradicts itself ({error}): it cannot go on."
            await held.lease.finish(RunFailed("internal", message))
            return "failed"
        return ""

    async def _leave_to_newer(self, held: ActiveRun, why: str) -> str:
        """Release a run that the newer workers of a rolling deploy can execute."""
        logger.warning("run %s %s", held.claimed.id, why)
        await held.lease.release("worker too old", delay_seconds=TOO_OLD_DELAY_SECONDS)
        return "handed over"

    async def _failed(self, held: ActiveRun, kind: str, message: str) -> str:
        await held.journaled.fail(RunFailed(kind, message, partial=held.journaled.state.partial))
        return "failed"

    async def _stopped(self, held: ActiveRun, engine: Engine | None) -> str:
        if held.why is None:  # Celery's time limit, revoke or shutdown: another worker resumes
            await asyncio.shield(self._cut_off(held, engine, "stopped by Celery"))
            raise asyncio.CancelledError
        while held.task.uncancel():
            pass  # a cancel may have overtaken a drain
        if held.why == "cancel":
            if engine is not None:
                await engine.cut()
            await held.journaled.cancel()
            return "cancelled"
        if held.why == "drain":
            return await self._cut_off(held, engine, held.standing.yields or "worker drains")
        return "lease lost"

    async def _cut_off(self, held: ActiveRun, engine: Engine | None, reason: str) -> str:
        """Release a run whose model call may have been in flight."""
        if engine is not None:
            await engine.cut()
        return await self._hand_over(held, reason)

    async def _hand_over(self, held: ActiveRun, reason: str) -> str:
        if not await held.lease.release(reason):
            return "lease lost"
        await self._checkpoint(held)
        self._outside.doorbell.ring(Child(held.claimed.id, held.claimed.queue))
        return "handed over"

    async def _checkpoint(self, held: ActiveRun) -> None:
        """Store the fold of a long journal. The run is released, so the state is final."""
        state = held.journaled.state
        if state.folded_seq - held.claimed.checkpoint_seq < CHECKPOINT_EVENTS:
            return
        try:
            encoded = checkpoint.encode(state)
            await held.lease.checkpoint(state.folded_seq, checkpoint.FORMAT, encoded)
        except psycopg.Error as error:
            logger.warning("no checkpoint of run %s (%s)", held.claimed.id, error)

    async def _outlast(self, held: ActiveRun) -> str:
        """Wait for the database, then release the run, whose last write is unknown."""
        while held.why not in ("lease lost", "drain") and not self._pool.closed:
            try:
                return await self._hand_over(held, "database was away")
            except JournalAwayError:
                await asyncio.sleep(DATABASE_RETRY_SECONDS)
        return "lease lost"  # a sweeper requeues it, once this process has left
