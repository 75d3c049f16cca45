"""Execution of one slice of a claimed run, including its failures."""

from __future__ import annotations

import asyncio
import errno
import logging
from uuid import UUID

import psycopg
from pydantic import ValidationError

from agents.definitions.kinds import part_of
from agents.errors import JournalAwayError, LeaseLostError, ProgramToolsError
from agents.journal.events import RunFailed
from agents.loop import checkpoint
from agents.loop.protocol import Engine
from agents.runs.lease import ABOUT_THE_DATA, Child
from agents.runs.pool import Pool
from agents.runtime.execution.active_run import ActiveRun
from agents.runtime.execution.dependencies import RuntimeDependencies
from agents.runtime.execution.engines import Build, EngineDependencies
from agents.runtime.toolset.stopped_tools import StoppedTools
from heartbit_site.base.database_faults import is_away
from heartbit_site.base.errors import HeartbitError

logger = logging.getLogger(__name__)

DATABASE_RETRY_SECONDS = 0.5
TOO_OLD_DELAY_SECONDS = 5.0
MOST_DELAY_SECONDS = 30.0  # longest delay before a run with repeated database faults is claimed
MOST_FAULTS = 1_000
CHECKPOINT_EVENTS = 200  # events since the last checkpoint that make a new one worthwhile


class SliceRunner:
    """Runner of slices."""

    def __init__(
        self, pool: Pool, dependencies: RuntimeDependencies, stopped: StoppedTools
    ) -> None:
        self._pool = pool
        self._dependencies = dependencies
        self._sources = EngineDependencies(pool, dependencies, stopped)
        self._faults: dict[UUID, int] = {}  # consecutive slices ended by a database fault

    async def run(self, active: ActiveRun) -> str:
        """Run until the slice is over and return its outcome.

        Raises:
            LeaseLostError: Another worker has claimed the run.
            asyncio.CancelledError: Celery stopped the task; the run is queued again.
        """
        try:
            outcome = await self._work(active)
        except LeaseLostError:
            raise
        except Exception as error:
            if not _may_pass(error):
                raise
            reason = "no file left" if _lacks_files(error) else "database was unavailable"
            logger.warning("run %s: %s (%s)", active.claimed.id, reason, error)
            return await self._outlast(active, reason)
        self._faults.pop(active.claimed.id, None)
        return outcome

    async def _work(self, active: ActiveRun) -> str:
        unreadable = await self._fold(active)
        if unreadable:
            return unreadable
        build: Build | None = part_of(active.claimed.kind, "engine")
        if build is None:
            return await self._leave_to_newer(active, f"is of the kind {active.claimed.kind}")
        engine: Engine | None = None
        try:
            engine = await build(active, self._sources)
            outcome = await engine.run()
        except asyncio.CancelledError:
            return await self._stopped(active, engine)
        except LeaseLostError:
            raise
        except Exception as error:
            if _may_pass(error):
                raise
            return await self._refused(active, error)
        if outcome == "yielded":
            return await self._hand_over(active, active.gate.yield_reason)
        if outcome == "suspended":
            await self._checkpoint(active)
        return outcome

    async def _fold(self, active: ActiveRun) -> str:
        """Fold the journal; return the slice's outcome if that fails, else an empty string."""
        state = active.journaled.state
        try:
            history = active.claimed.history(after=state.folded_seq)
        except (KeyError, ValidationError) as error:
            return await self._leave_to_newer(active, f"has events of a newer Heartbit ({error})")
        try:
            for recorded in history:
                state.fold(recorded)
        except (KeyError, ValueError) as error:
            logger.exception("the journal of run %s contradicts itself", active.claimed.id)
            # Written through the lease, because the fold failed; no worker can continue the run.
            message = f"The run's journal contradicts itself ({error}): the run cannot continue."
            await active.lease.finish(RunFailed("internal", message))
            return "failed"
        return ""

    async def _leave_to_newer(self, active: ActiveRun, why: str) -> str:
        """Release a run that the newer workers of a rolling deploy can execute."""
        logger.warning("run %s %s", active.claimed.id, why)
        await active.lease.release("worker too old", delay_seconds=TOO_OLD_DELAY_SECONDS)
        return "handed over"

    async def _refused(self, active: ActiveRun, error: Exception) -> str:
        """Release a run that needs its program; end a run that no process can execute."""
        if isinstance(error, ProgramToolsError):
            logger.warning("%s", error)
            return await self._hand_over(active, "tool missing", delay_seconds=MOST_DELAY_SECONDS)
        if isinstance(error, HeartbitError):
            # The definition cannot be executed as it is, so a retry would fail again.
            return await self._failed(active, "definition", str(error))
        logger.error("run %s failed inside Heartbit", active.claimed.id, exc_info=error)
        message = f"An internal error ({type(error).__name__}) ended the run: see the log."
        return await self._failed(active, "internal", message)

    async def _failed(self, active: ActiveRun, kind: str, message: str) -> str:
        await active.journaled.fail(
            RunFailed(kind, message, partial=active.journaled.state.partial)
        )
        return "failed"

    async def _stopped(self, active: ActiveRun, engine: Engine | None) -> str:
        if (
            active.stop_reason is None
        ):  # Celery's time limit, revoke or shutdown: another worker continues
            await asyncio.shield(self._cut_off(active, engine, "stopped by Celery"))
            raise asyncio.CancelledError
        while active.task.uncancel():
            pass  # a cancel may have followed a drain
        if active.stop_reason == "cancel":
            if engine is not None:
                await engine.record_interrupted()
            await active.journaled.cancel()
            return "cancelled"
        if active.stop_reason == "drain":
            return await self._cut_off(active, engine, active.gate.yield_reason or "worker drains")
        return "lease lost"

    async def _cut_off(self, active: ActiveRun, engine: Engine | None, reason: str) -> str:
        """Release a run whose model call may have been in flight."""
        if engine is not None:
            await engine.record_interrupted()
        return await self._hand_over(active, reason)

    async def _hand_over(self, active: ActiveRun, reason: str, *, delay_seconds: float = 0) -> str:
        if not await active.lease.release(reason, delay_seconds=delay_seconds):
            return "lease lost"
        await self._checkpoint(active)
        if not delay_seconds:  # else a sweep wakes it
            self._dependencies.waker.wake(Child(active.claimed.id, active.claimed.queue))
        return "handed over"

    async def _checkpoint(self, active: ActiveRun) -> None:
        """Store the fold of a long journal. The run is released, so the state is final."""
        state = active.journaled.state
        if state.folded_seq - active.claimed.checkpoint_seq < CHECKPOINT_EVENTS:
            return
        try:
            encoded = checkpoint.encode(active.claimed.kind, state)
            await active.lease.checkpoint(state.folded_seq, checkpoint.current_format(), encoded)
        except psycopg.Error as error:
            logger.warning("no checkpoint of run %s (%s)", active.claimed.id, error)

    async def _outlast(self, active: ActiveRun, reason: str) -> str:
        """Release the run as soon as the database answers; the last write may be committed or not.

        After the first fault the run may be claimed at once, because usually one connection broke.
        Repeated faults, such as a disk that is full for one table, increase the delay.
        """
        run_id = active.claimed.id
        if len(self._faults) >= MOST_FAULTS:
            self._faults.clear()  # entries of runs that other processes finished
        times = self._faults[run_id] = self._faults.get(run_id, 0) + 1
        delay = min(MOST_DELAY_SECONDS, 2.0 ** (times - 2)) if times > 1 else 0.0
        while active.stop_reason not in ("lease lost", "drain") and not self._pool.closed:
            try:
                return await self._hand_over(active, reason, delay_seconds=delay)
            except JournalAwayError:
                await asyncio.sleep(DATABASE_RETRY_SECONDS)
        return "lease lost"  # a sweeper requeues it, once this process has left


def _may_pass(error: Exception) -> bool:
    """Return True if the error is not the run's fault and another slice may continue.

    The runtime's own statements are valid: if PostgreSQL rejects one, except for data that it
    cannot store, the tables have another version, as during a rolling deploy.
    """
    own = isinstance(error, psycopg.Error) and not isinstance(error, ABOUT_THE_DATA)
    return isinstance(error, JournalAwayError) or own or is_away(error) or _lacks_files(error)


def _lacks_files(error: Exception) -> bool:
    """Return True if the process or the machine has reached its limit of open files."""
    return isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)
