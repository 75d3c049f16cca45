"""A process that executes runs: its pools and clients, what it holds, and how a slice goes.

Everything here lives on the process's one loop. ``execute`` is the only way in: a nudge names a
run, the claim decides.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, LiteralString

import psycopg
from pydantic import ValidationError

from agents.choices import TERMINAL, Home
from agents.errors import JournalAwayError, LeaseLostError
from agents.events import RunFailed
from agents.live.window import RunWindow, Window
from agents.llm.pricing import cost
from agents.loop.engine import Slice
from agents.loop.journaled import JournaledState
from agents.loop.ports import Ports
from agents.loop.state import RunState
from agents.runs.claims import Claimant, Claimed, claim
from agents.runs.lease import Child, Lease
from agents.runs.pool import Pool, open_pool
from agents.runtime.accounts import Accounts
from agents.runtime.control import Control
from agents.runtime.definitions import Definitions
from agents.runtime.grants import granted
from agents.runtime.thread import spoken
from agents.runtime.toolbox import RunToolbox, context_factory, offer_of
from heartbit_site.base.errors import HeartbitError

if TYPE_CHECKING:
    from concurrent.futures import Executor
    from uuid import UUID

    import httpx
    from psycopg.rows import DictRow

    from agents.loop.definition import AgentDefinition
    from agents.runtime.doorbell import Doorbell
    from agents.runtime.models import Models
    from tools.registry import Registry

logger = logging.getLogger(__name__)

DATABASE_RETRY_SECONDS = 0.5
TOO_OLD_DELAY_SECONDS = 5.0
DRAIN_SECONDS = 10.0

_HELD = """
    SELECT id, lease_token, cancel_requested, queue FROM agents_run
    WHERE worker_id = %s AND status = 'running'
"""
_QUEUED = """
    SELECT id FROM agents_run
    WHERE root_id = ANY (%s) AND home = 'local' AND status = 'queued'
          AND available_at <= clock_timestamp()
"""

StopReason = Literal["cancel", "lease lost", "drain"]


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a process is told once.

    Attributes:
        database_url: For the journal's pool.
        direct_url: For the control session; never through a transaction pooler.
        home: Whose runs it executes.
        queues: The fleet queues it serves.
        slots: How many runs it holds at most.
        lease_seconds: Silent for longer than this, it counts as dead.
        default_model: ``provider:model`` for runs that name none, nor their workspace.
        explicit_model: The same whatever their workspace names, when the environment says so.
    """

    database_url: str
    direct_url: str
    home: Home
    queues: tuple[str, ...]
    slots: int
    lease_seconds: float
    default_model: str
    explicit_model: str = ""


@dataclass(frozen=True, slots=True)
class Outside:
    """The world, as the process reaches it."""

    registry: Registry
    window: Window
    doorbell: Doorbell
    models: Models
    guarded: httpx.AsyncClient
    executor: Executor


@dataclass(slots=True)
class _Held:
    """A run this process holds, and why its slice is being stopped, once it is."""

    claimed: Claimed
    task: asyncio.Task[object]
    lease: Lease
    window: RunWindow
    journaled: JournaledState
    why: StopReason | None = None

    def stop(self, why: StopReason) -> None:
        if self.why is None:
            self.why = why
            self.task.cancel()


def _journaled(claimed: Claimed, lease: Lease) -> JournaledState:
    return JournaledState(RunState(conversation=spoken(claimed.thread)), lease)


class Process:
    """Executes runs until it is stopped."""

    def __init__(self, configuration: Configuration, outside: Outside) -> None:
        self.configuration = configuration
        self._outside = outside
        self._pool: Pool = open_pool(configuration.database_url)
        self._definitions = Definitions(self._pool)
        self._accounts = Accounts(self._pool)
        self._held: dict[tuple[UUID, int], _Held] = {}
        self._orphans: set[tuple[UUID, int]] = set()
        self._roots: set[UUID] = set()
        self._draining = asyncio.Event()
        self.control = Control(
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
        """Take care of a local run and its tree: no other process does."""
        self._roots.add(root_id)

    @property
    def in_flight(self) -> int:
        """How many runs it holds now."""
        return len(self._held)

    async def start(self) -> None:
        """Open the pool and register; claims are possible from here on."""
        await self._pool.open(wait=True)
        await self.control.start()

    async def stop(self) -> None:
        """Hand back what is held, then sign off."""
        await self.drain()
        await self.control.stop()
        await self._pool.close()
        self._outside.executor.shutdown(wait=False, cancel_futures=True)

    async def drain(self) -> None:
        """Claim nothing more and give every held run back to the queue."""
        self._draining.set()
        held = list(self._held.values())
        for run in held:
            run.stop("drain")
        if held:
            # What does not end in time is requeued by a sweeper, once this process has left.
            await asyncio.wait([run.task for run in held], timeout=DRAIN_SECONDS)

    async def execute(self, run_id: UUID, task_id: str) -> str:
        """Serve a nudge: claim the run, or another one, and work one slice of it.

        Returns:
            What became of the slice, for the task's log.
        """
        if self._draining.is_set() or not self.control.worker_id:
            return "not now"  # the run is still queued; a sweep rings again
        try:
            claimed = await claim(self._pool, self._claimant(), run_id, task_id=task_id)
        except psycopg.Error as error:
            # Whether it was claimed is unknown: ``_reconcile`` hands back what nobody works on.
            logger.warning("no claim: the database is away (%s)", error)
            return "database away"
        if claimed is None:
            return "nothing to do"
        held = self._hold(claimed)
        if (
            self._draining.is_set()
        ):  # began while the claim was on its way, so it did not see this run
            held.stop("drain")
        try:
            outcome = await self._slice(held)
        except LeaseLostError as lost:
            logger.info("%s", lost)
            return "lease lost"
        finally:
            del self._held[claimed.id, claimed.token]
        self._committed(held, outcome)
        return outcome

    def _claimant(self) -> Claimant:
        configuration = self.configuration
        return Claimant(
            worker_id=self.control.worker_id,
            worker_name=self.control.worker_name,
            home=configuration.home,
            queues=configuration.queues,
            default_model=configuration.default_model,
            explicit_model=configuration.explicit_model,
        )

    def _hold(self, claimed: Claimed) -> _Held:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("execute() runs in a task")
        window = RunWindow(self._outside.window, claimed.id, claimed.token)
        lease = Lease(
            self._pool, claimed, executor=self._outside.executor, on_commit=window.advanced
        )
        held = _Held(claimed, task, lease, window, _journaled(claimed, lease))
        self._held[claimed.id, claimed.token] = held
        window.advanced(lease.last_seq)
        return held

    async def _slice(self, held: _Held) -> str:
        try:
            return await self._work(held)
        except (JournalAwayError, psycopg.Error) as error:
            logger.warning("run %s: the database is away (%s)", held.claimed.id, error)
            return await self._outlast(held)

    async def _work(self, held: _Held) -> str:
        state = held.journaled.state
        try:
            history = held.claimed.history()
        except (KeyError, ValidationError) as error:
            # In a rolling deploy the new workers can read it, so it is theirs.
            logger.warning("run %s has news from a newer Heartbit (%s)", held.claimed.id, error)
            await held.lease.release("worker too old", delay_seconds=TOO_OLD_DELAY_SECONDS)
            return "handed over"
        try:
            for recorded in history:
                state.fold(recorded)
        except (KeyError, ValueError) as error:
            logger.exception("the journal of run %s contradicts itself", held.claimed.id)
            # Not through the fold, which is what failed; nobody can go on from here.
            message = f"The run's journal contradicts itself ({error}): it cannot go on."
            await held.lease.finish(RunFailed("internal", message))
            return "failed"
        try:
            definition = await self._definitions.get(held.claimed.version_id)
            ports = await self._ports(held, definition)
            return await Slice(held.journaled, definition, ports).run()
        except asyncio.CancelledError:
            return await self._stopped(held)
        except (LeaseLostError, JournalAwayError, psycopg.Error):
            raise
        except HeartbitError as error:
            # The definition cannot be executed as it is: no further attempt will mend that.
            ending = RunFailed("definition", str(error), partial=state.partial)
        except Exception as error:
            logger.exception("run %s failed inside Heartbit", held.claimed.id)
            message = f"An internal error ({type(error).__name__}) ended the run: see the log."
            ending = RunFailed("internal", message, partial=state.partial)
        await held.journaled.fail(ending)
        return "failed"

    async def _stopped(self, held: _Held) -> str:
        if held.why is None:  # Celery's time limit, revoke or shutdown: somebody else goes on
            await asyncio.shield(self._hand_over(held, "stopped by Celery"))
            raise asyncio.CancelledError
        held.task.uncancel()
        if held.why == "cancel":
            await held.journaled.cancel()
            return "cancelled"
        if held.why == "drain":
            return await self._hand_over(held, "worker drains")
        return "lease lost"

    async def _hand_over(self, held: _Held, reason: str) -> str:
        if not await held.lease.release(reason):
            return "lease lost"
        self._outside.doorbell.ring(Child(held.claimed.id, held.claimed.queue))
        return "handed over"

    async def _outlast(self, held: _Held) -> str:
        """Wait for the database to come back, then hand the run over: its last write is unknown."""
        while held.why not in ("lease lost", "drain") and not self._pool.closed:
            try:
                return await self._hand_over(held, "database was away")
            except JournalAwayError:
                await asyncio.sleep(DATABASE_RETRY_SECONDS)
        return "lease lost"  # a sweeper requeues it, once this process has left

    async def _reconcile(self) -> None:
        """Compare what the database says this process holds with what it works on.

        A claim whose answer was lost, or a slice that ended in a way nobody foresaw, leaves a run
        in the name of a process that lives. It is handed back when two looks in a row find it. A
        cancel whose notice was missed is found here as well.
        """
        rows = await self._rows(_HELD, (self.control.worker_id,))
        mine = {(run.claimed.id, run.lease.token): run for run in self._held.values()}
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
        if self._roots:
            for row in await self._rows(_QUEUED, (list(self._roots),)):
                self._outside.doorbell.ring(Child(row["id"], ""))

    async def _disown(self, row: DictRow) -> None:
        logger.warning("run %s was held by nobody: queued again", row["id"])
        parameters = (row["id"], row["lease_token"], "held by nobody")
        await self._rows("SELECT heartbit_release(%s, %s, %s, 0)", parameters)
        self._outside.doorbell.ring(Child(row["id"], row["queue"]))

    async def _rows(self, query: LiteralString, parameters: tuple[object, ...]) -> list[DictRow]:
        async with self._pool.connection() as connection:
            return await (await connection.execute(query, parameters)).fetchall()

    async def _ports(self, held: _Held, definition: AgentDefinition) -> Ports:
        outside, claimed = self._outside, held.claimed
        toolbox = RunToolbox(
            offer_of(definition, outside.registry, is_child=claimed.parent_id is not None),
            definition,
            approve=claimed.approve,
            granted=granted(self._pool, definition.agent_id, claimed),
            context=context_factory(
                workspace_id=claimed.workspace_id,
                run_id=claimed.id,
                root_id=claimed.root_id,
                agent=claimed.agent,
                http=outside.guarded,
            ),
            executor=outside.executor,
        )
        model = await outside.models.get(
            (held.journaled.state.model, *definition.fallback_models),
            definition.retry,
            partial(self._accounts.get, claimed.workspace_id),
        )
        return Ports(model, toolbox, held.window, cost)

    def _committed(self, held: _Held, outcome: str) -> None:
        """What may happen only once the slice's last transaction is durable."""
        lease, claimed = held.lease, held.claimed
        if outcome in TERMINAL:
            held.window.ended(outcome)
            self._roots.discard(claimed.id)
        if lease.children:
            self._outside.doorbell.fan_out(lease.children, Child(claimed.id, claimed.queue))
        if lease.ring is not None:
            self._outside.doorbell.ring(lease.ring)

    def _notice(self, verb: str, run_id: UUID, root_id: UUID | None) -> None:
        if verb == "cancel":
            for held in self._held.values():
                if held.claimed.id == run_id:
                    held.stop("cancel")
        elif verb == "ring" and root_id in self._roots:
            self._outside.doorbell.ring(Child(run_id, ""))

    def _lose_all(self) -> None:
        for held in self._held.values():
            held.stop("lease lost")
