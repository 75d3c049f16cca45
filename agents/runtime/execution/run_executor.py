"""Claiming and execution of runs in one process: its pools, its claimed runs and their slices.

Everything runs on the process's one event loop. ``execute`` is the only entry point: a wake-up
names a run, and the claim decides whether that run or another one starts.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Sequence
from functools import partial
from typing import LiteralString
from uuid import UUID

import psycopg
from psycopg.rows import DictRow
from pydantic import ValidationError

from agents.choices import TERMINAL, Placement
from agents.errors import LeaseLostError
from agents.live.changes import EVERYWHERE, notify
from agents.live.pubsub import RunPublisher
from agents.loop.effect_gate import EffectGate
from agents.loop.journaled import JournaledState
from agents.loop.past_runs import to_messages
from agents.loop.state import state_of
from agents.runs.claims import Claimant, ClaimedRun, NextClaim, SuspectRun, claim
from agents.runs.lease import Child, Lease
from agents.runs.pool import Pool, open_pool
from agents.runtime.execution.active_run import ActiveRun
from agents.runtime.execution.dependencies import RuntimeDependencies
from agents.runtime.execution.executor_config import ExecutorConfig
from agents.runtime.execution.slice_runner import SliceRunner
from agents.runtime.execution.slot import Slot
from agents.runtime.recovery import run_tasks
from agents.runtime.recovery.control_session import ControlSession
from agents.runtime.recovery.isolated_runs import Suspect
from agents.runtime.toolset.stopped_tools import QUERY as STOPPED_TOOLS
from agents.runtime.toolset.stopped_tools import StoppedTools
from agents.tracing import runs as traces
from agents.tracing.spans import TracedRun
from heartbit_site.base import tracing

logger = logging.getLogger(__name__)

SLICE_SECONDS = 60.0  # then a run is checkpointed and goes to the end of the queue
_SPARE_SECONDS = 2
STOP_AGAIN_SECONDS = 1.0  # interval at which a draining slice is stopped again

_HELD = """
    SELECT id, lease_token, cancel_requested, queue FROM agents_run
    WHERE worker_id = %s AND status = 'running'
"""
_SUSPECTS = "SELECT id, crashes FROM agents_run WHERE id = ANY (%s) AND status = 'queued'"
_UNWANTED = "SELECT * FROM heartbit_unwanted(%s)"
_SPARE = """
    SELECT heartbit_release(t.id, t.lease_token, 'worker lost', 0) FROM agents_run t
    WHERE t.worker_id = %(worker)s AND t.status = 'running' AND t.id <> %(run)s
          AND EXISTS (SELECT 1 FROM agents_run r WHERE r.id = %(run)s AND r.worker_id = %(worker)s
                      AND r.status = 'running')
"""
_FORGET = "DELETE FROM agents_checkpoint WHERE run_id = %s RETURNING run_id"
_NEXT = "SELECT ring, ring_queue FROM heartbit_ring_next(%s, %s)"
_QUEUED = """
    SELECT id FROM agents_run
    WHERE root_id = ANY (%s) AND home = 'local' AND status = 'queued'
          AND available_at <= clock_timestamp()
"""


class RunExecutor:
    """Executor of runs, until it is stopped."""

    def __init__(self, configuration: ExecutorConfig, dependencies: RuntimeDependencies) -> None:
        self.configuration = configuration
        self._dependencies = dependencies
        self._pool: Pool = open_pool(configuration.database_url)
        self._stopped_tools = StoppedTools()
        self._slices = SliceRunner(self._pool, dependencies, self._stopped_tools)
        self._active: dict[tuple[UUID, int], ActiveRun] = {}
        self._orphans: set[tuple[UUID, int]] = set()
        self._roots: set[UUID] = set()
        self._draining = asyncio.Event()
        self.control = ControlSession(
            configuration.direct_url,
            home=configuration.home,
            queues=configuration.queues,
            slots=configuration.slots,
            lease_seconds=configuration.lease_seconds,
            on_notice=self._notice,
            on_lease_lost=self._lose_all,
            on_beat=self._reconcile,
        )

    def adopt(self, root_id: UUID) -> None:
        """Track a local run and its tree: only this process wakes their runs."""
        self._roots.add(root_id)

    @property
    def in_flight(self) -> int:
        """Number of runs held now."""
        return len(self._active)

    @property
    def is_draining(self) -> bool:
        """True once the process claims no more runs."""
        return self._draining.is_set()

    async def ping(self) -> None:
        """Query the database.

        Raises:
            psycopg.Error: The database did not answer.
        """
        await self._rows("SELECT 1", ())

    async def start(self) -> None:
        """Open the pool and register; claims are possible from here on."""
        await self._pool.open(wait=True)
        await self._look_for_stopped_tools()
        await self.control.start()
        notify(EVERYWHERE, "fleet")

    async def stop(self) -> None:
        """Release all runs, then mark the process as left."""
        await self.drain()
        await self.control.stop()
        notify(EVERYWHERE, "fleet")
        await self._pool.close()
        self._dependencies.executor.shutdown(wait=False, cancel_futures=True)

    async def drain(self) -> None:
        """Claim no more runs and release every run to the queue.

        Runs without a running effect are released at once; effects have ``drain_seconds`` to
        finish.
        """
        self._draining.set()
        self._dependencies.run_isolated.leave()
        active = list(self._active.values())
        for run in active:
            run.stop("drain")
        # A sweeper requeues runs that do not end in time, once this process has left.
        until = time.monotonic() + self.configuration.drain_seconds
        while active and (left := until - time.monotonic()) > 0:
            await asyncio.wait([run.task for run in active], timeout=min(left, STOP_AGAIN_SECONDS))
            active = [run for run in active if not run.task.done()]
            for run in active:
                run.stop("drain")  # again: a library may have swallowed the first stop

    def spare(self, culprit: UUID) -> None:
        """Release all runs but the one that blocks the loop, before the process is killed.

        The kill then counts as a crash of that run only. Called in a thread; never waits for the
        loop, and only briefly for the database.
        """
        try:
            with psycopg.connect(
                self.configuration.direct_url,
                autocommit=True,
                connect_timeout=_SPARE_SECONDS,
                options=f"-c statement_timeout={1_000 * _SPARE_SECONDS}",
            ) as connection:
                connection.execute(_SPARE, {"worker": self.control.worker_id, "run": culprit})
        except psycopg.Error as error:
            logger.warning("the other runs of this worker count as crashed, too (%s)", error)

    async def execute(self, run_id: UUID, task_id: str, *, alone: bool = False) -> str:
        """Handle a wake-up: claim the run, or another one, and run one slice of it.

        The last sub-agent to end wakes the run that delegated to it. That run is claimed at once,
        in the same transaction if the workspace has no limit: the slot is free, so a wake-up
        message would only add latency.

        Args:
            run_id: Run that the wake-up names.
            task_id: Id of the Celery task, for the journal.
            alone: True if this process was started to execute only certain runs, possibly
                suspects.

        Returns:
            Outcome of the last slice, for the task's log.
        """
        run_tasks.work_for(run_id)
        if self._draining.is_set() or not self.control.worker_id:
            return "not now"  # the run is still queued; a sweep sends another wake-up
        if any(active.claimed.id == run_id for active in self._active.values()):
            return "at work"  # a chord's body and its last part both wake the run
        try:
            claimed = await claim(self._pool, self._claimant(alone=alone), run_id, task_id=task_id)
        except psycopg.Error as error:
            # The claim may have been committed: ``_reconcile`` releases runs without a slice.
            logger.warning("no claim: the database is unavailable (%s)", error)
            return "database unavailable"
        return await self._serve(claimed, Slot.taken(task_id, alone=alone))

    async def _serve(self, claimed: ClaimedRun | SuspectRun | None, slot: Slot) -> str:
        """Run a slice of a claimed run, then of each run that was claimed with the end of one."""
        outcome = "nothing to do"
        while claimed is not None:
            if isinstance(claimed, SuspectRun):
                return await self._try_apart(claimed.id)
            outcome, lease = await self._work_on(claimed, slot)
            if lease is None:
                return outcome
            if lease.next is None and lease.ring is not None:
                if claimed.parent_id is not None and not slot.alone and self._serves(lease.ring):
                    return await self.execute(lease.ring.id, slot.task_id)
                self._dependencies.waker.wake(lease.ring)
            claimed = lease.next
        return outcome

    async def _work_on(self, claimed: ClaimedRun, slot: Slot) -> tuple[str, Lease | None]:
        """Run one slice of a claimed run; return its outcome, and its lease unless it was lost."""
        traced = await _traced(claimed)
        run_tasks.work_for(claimed.id, tracing.of_run(traced.id, traced.trace_id))
        try:
            active = self._hold(claimed, slot)
        except ValidationError:
            return await self._forget_checkpoint(claimed), None
        if self._draining.is_set():
            # The drain began during the claim, so it did not stop this run.
            active.stop("drain")
        loop = asyncio.get_running_loop()
        long = loop.call_later(SLICE_SECONDS, active.gate.request_yield, "slice was long enough")
        try:
            outcome = await self._slices.run(active)
        except LeaseLostError as lost:
            logger.info("%s", lost)
            return "lease lost", None
        finally:
            long.cancel()
            del self._active[claimed.id, claimed.token]
        traces.after_slice(traced, started_seq=claimed.last_seq, last_seq=active.lease.last_seq)
        if outcome == "suspended":
            slot.suspended[claimed.id] = active.journaled.state
        self._committed(active, outcome)
        if claimed.limited:
            await self._ring_next(claimed.workspace_id)
        return outcome, active.lease

    def _serves(self, run: Child) -> bool:
        """Return True if this process may claim the run."""
        configuration = self.configuration
        is_here = configuration.home is Placement.LOCAL or run.queue in configuration.queues
        return is_here and not self._draining.is_set()

    def _claimant(self, *, alone: bool) -> Claimant:
        configuration = self.configuration
        return Claimant(
            worker_id=self.control.worker_id,
            worker_name=self.control.worker_name,
            home=configuration.home,
            queues=configuration.queues,
            default_model=configuration.default_model,
            explicit_model=configuration.explicit_model,
            # A local process holds only its own runs, so it may execute suspects.
            alone=alone or configuration.home is Placement.LOCAL,
        )

    async def _forget_checkpoint(self, claimed: ClaimedRun) -> str:
        """Delete a checkpoint that cannot be decoded, and release the run to use its journal."""
        logger.exception("the checkpoint of run %s cannot be read: it is deleted", claimed.id)
        await self._rows(_FORGET, (claimed.id,))
        await self._rows(
            "SELECT heartbit_release(%s, %s, 'no checkpoint', 0)", (claimed.id, claimed.token)
        )
        self._dependencies.waker.wake(Child(claimed.id, claimed.queue))
        return "handed over"

    def _next_claim(self, claimed: ClaimedRun, slot: Slot) -> NextClaim | None:
        """Return the claimant of the run that a slice's last write wakes or starts; None: none.

        In a workspace with a limit claims wait for each other, which must not happen while the
        write holds its locks.
        """
        if claimed.limited or slot.alone or slot.is_over:
            return None
        if self._draining.is_set() or not self.control.worker_id:
            return None
        return NextClaim(self._claimant(alone=False), slot.task_id)

    def _hold(self, claimed: ClaimedRun, slot: Slot) -> ActiveRun:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("execute() runs in a task")
        publisher = RunPublisher(self._dependencies.publisher, claimed.id, claimed.token)
        lease = Lease(
            self._pool,
            claimed,
            executor=self._dependencies.executor,
            on_commit=publisher.advanced,
            next_claim=partial(self._next_claim, claimed, slot),
            on_waits=partial(self._began_waits, claimed),
        )
        state = slot.take_state(claimed) or claimed.restored()
        if state is None:
            state = state_of(claimed.kind).begin(to_messages(claimed.thread))
        gate = EffectGate(self.control.wait_until_alive, task.cancel)
        active = ActiveRun(claimed, task, lease, publisher, JournaledState(state, lease), gate)
        self._active[claimed.id, claimed.token] = active
        publisher.advanced(lease.last_seq)
        notify(claimed.workspace_id, "runs")
        return active

    async def _reconcile(self) -> None:
        """Compare the runs that the database says this process holds with its slices.

        A lost reply to a claim, or a slice that ended unexpectedly, leaves a run assigned to a live
        process that does not execute it. The run is released when two checks in a row find it. The
        comparison also finds cancels whose notification was missed.
        """
        await self._look_for_stopped_tools()
        rows = await self._rows(_HELD, (self.control.worker_id,))
        mine = {run.key: run for run in self._active.values()}
        orphans: set[tuple[UUID, int]] = set()
        for row in rows:
            key = (row["id"], row["lease_token"])
            if key not in mine:
                orphans.add(key)
                if key in self._orphans:
                    await self._disown(row)
            elif row["cancel_requested"]:
                mine[key].stop("cancel")
        self._orphans = orphans
        for row in await self._rows(_UNWANTED, (self.control.worker_id,)):
            unwanted = mine.get((row["run_id"], row["lease_token"]))
            if unwanted is not None:
                unwanted.gate.request_yield(row["reason"])
                unwanted.stop("drain")
        if self._roots:
            for row in await self._rows(_QUEUED, (list(self._roots),)):
                self._dependencies.waker.wake(Child(row["id"], ""))

    async def _look_for_stopped_tools(self) -> None:
        self._stopped_tools.update(await self._rows(STOPPED_TOOLS, ()))

    async def _try_apart(self, run_id: UUID) -> str:
        try:
            await self._dependencies.run_isolated(run_id, self._find_suspects)
        except psycopg.Error as error:
            logger.warning("the database is unavailable (%s): a sweep will wake the run", error)
            return "database unavailable"
        return "tried apart"

    async def _find_suspects(self, run_ids: Collection[UUID]) -> list[Suspect]:
        rows = await self._rows(_SUSPECTS, (list(run_ids),))
        return [Suspect(row["id"], row["crashes"]) for row in rows]

    async def _ring_next(self, workspace_id: int) -> None:
        """Wake a run of a limited workspace, whose wake-up may have come while it was full."""
        try:
            parameters = (workspace_id, list(self.configuration.queues))
            for row in await self._rows(_NEXT, parameters):
                self._dependencies.waker.wake(Child(row["ring"], row["ring_queue"]))
        except psycopg.Error as error:
            logger.warning("the database is unavailable (%s): a sweep will wake the run", error)

    async def _disown(self, row: DictRow) -> None:
        logger.warning("run %s was claimed but not executed: queued again", row["id"])
        parameters = (row["id"], row["lease_token"], "claimed but not executed")
        await self._rows("SELECT heartbit_release(%s, %s, %s, 0)", parameters)
        self._dependencies.waker.wake(Child(row["id"], row["queue"]))

    async def _rows(self, query: LiteralString, parameters: tuple[object, ...]) -> list[DictRow]:
        async with self._pool.connection() as connection:
            return await (await connection.execute(query, parameters)).fetchall()

    def _committed(self, active: ActiveRun, outcome: str) -> None:
        """Publish the slice's results, now that its last transaction is committed."""
        lease, claimed = active.lease, active.claimed
        notify(claimed.workspace_id, "runs")
        if outcome in TERMINAL:
            active.publisher.ended(outcome, lease.end)
            self._roots.discard(claimed.id)

    def _began_waits(
        self, claimed: ClaimedRun, children: Sequence[Child], *, asks_people: bool
    ) -> None:
        """Start the runs that a run waits for, and notify the people."""
        run = Child(claimed.id, claimed.queue)
        if children:
            self._dependencies.waker.fan_out(children, run)
        if asks_people:
            notify(claimed.workspace_id, "calls")
            self._dependencies.waker.suspended(run)

    def _notice(self, verb: str, run_id: UUID, root_id: UUID | None) -> None:
        if verb == "cancel":
            for active in self._active.values():
                if active.claimed.id == run_id:
                    active.stop("cancel")
        elif verb == "ring" and root_id in self._roots:
            self._dependencies.waker.wake(Child(run_id, ""))

    def _lose_all(self) -> None:
        for active in self._active.values():
            active.stop("lease lost")


async def _traced(claimed: ClaimedRun) -> TracedRun:
    """Return the claimed run with the trace of its tree."""
    return TracedRun(
        *await traces.origin_of(claimed.root_id, () if claimed.parent_id else claimed.journal),
        str(claimed.id),
        is_child=claimed.parent_id is not None,
        kind=claimed.kind,
        agent=claimed.agent,
        queue=claimed.queue,
        workspace_id=claimed.workspace_id,
        conversation=None if claimed.conversation_id is None else str(claimed.conversation_id),
    )
