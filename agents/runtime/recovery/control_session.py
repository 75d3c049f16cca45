"""The control session: heartbeat, advisory lock, and notifications of cancels and wake-ups.

Each process has one session, straight to Postgres. It holds an advisory lock named after the
process's heartbeat row: when the process is killed, the kernel closes its socket, which frees the
lock, and the next sweep notices. The heartbeat row covers the cases that a lock cannot show: a
frozen or disconnected process.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import socket
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING
from uuid import UUID

import psycopg

from heartbit_site.base import aio

if TYPE_CHECKING:
    from agents.choices import Placement

logger = logging.getLogger(__name__)

LOCK_CLASS = 7702  # the first half of every worker lock's key; the second is the heartbeat row's id
CHANNEL = "heartbit"
RETRY_SECONDS = 0.1  # sweepers look twice, half a second apart
#: Leases after which a silent child that tries one suspect counts as lost. If its loop hangs,
#: ``loop_watchdog`` ends it, which frees its lock. A child that is only slow, as on an overloaded
#: machine, must not count as lost: that would quarantine an innocent run.
ALONE_LEASES = 4
HURRY_SECONDS = 0.2  # from a notice to the beat that handles it: notices come in bursts


class ControlSession:
    """Control session of a process.

    Attributes:
        worker_name: ``host:pid``.
        on_requested_action: Called at each heartbeat with the action requested of the process:
            ``stop`` or ``restart``.
        on_heartbeat: Called after each heartbeat; must not block.
        sandbox: Name of the process's sandbox, once a probe has shown that it works.
        sandbox_problem: Reason why no sandbox works, as a sentence; empty: one does, or no probe
            has ended.
    """

    on_requested_action: Callable[[str], None] | None = None
    on_heartbeat: Callable[[], None] | None = None

    def __init__(
        self,
        conninfo: str,
        *,
        home: Placement,
        queues: tuple[str, ...],
        slots: int,
        lease_seconds: float,
        on_notice: Callable[[str, UUID, UUID | None], None],
        on_lease_lost: Callable[[], None],
        on_beat: Callable[[], Awaitable[None]],
    ) -> None:
        self.worker_id = 0
        self.sandbox = ""
        self.sandbox_problem = ""
        self.worker_name = f"{socket.gethostname()}:{os.getpid()}"
        self._conninfo = conninfo
        is_alone = home.value == "fleet" and not queues
        silence = lease_seconds * (ALONE_LEASES if is_alone else 1)
        self._row = (self.worker_name, home.value, json.dumps(queues), slots, silence)
        self._lease_seconds = lease_seconds
        self._late_seconds = lease_seconds * 2 / 3  # one beat was missed
        self._on_notice = on_notice
        self._on_lease_lost = on_lease_lost
        self._on_beat = on_beat
        self._session: psycopg.AsyncConnection | None = None
        self._proven_at = time.monotonic()
        self._late_at = float("-inf")  # last beat over two thirds of a lease after its predecessor
        self._former: list[int] = []
        self._unlocked_at = time.monotonic()
        self._locked = asyncio.Event()
        self._beaten = asyncio.Event()
        self._hurry = asyncio.Event()

    async def wait_until_alive(self) -> None:
        """Wait until the process holds its lock and has a recent heartbeat: it owns its runs."""
        while True:
            await self._locked.wait()
            if time.monotonic() - self._proven_at < self._lease_seconds:
                return
            self._beaten.clear()
            await self._beaten.wait()

    @property
    def is_proven(self) -> bool:
        """True while the process is registered and locked, with a heartbeat within a lease."""
        is_fresh = time.monotonic() - self._proven_at < self._lease_seconds
        return bool(self.worker_id) and self._locked.is_set() and is_fresh

    def heartbeat_is_stable(self) -> bool:
        """Return True if heartbeats were on time for a lease. Thread-safe."""
        now = time.monotonic()
        late = now - self._proven_at > self._late_seconds
        return not late and now - self._late_at > self._lease_seconds

    async def start(self) -> None:
        """Register the process and take its lock, before it may claim runs."""
        self._session = await self._connect()
        self._proven_at = time.monotonic()
        self._listening = asyncio.create_task(self._listen(), name="control-listen")
        self._proving = asyncio.create_task(self._prove(), name="control-heartbeat")

    async def stop(self) -> None:
        """Mark the row as left; closing the session frees the lock."""
        await aio.cancel_and_wait(self._proving)  # first: it restarts the listener
        await aio.cancel_and_wait(self._listening)
        if self._session is None:
            return
        try:
            await self._session.execute(
                "UPDATE agents_workerheartbeat SET left_at = clock_timestamp() WHERE id = %s",
                (self.worker_id,),
            )
        except psycopg.Error as error:
            logger.warning("could not sign off (%s); the sweeper will notice", error)
        await self._session.close()

    async def _connect(self) -> psycopg.AsyncConnection:
        session = await psycopg.AsyncConnection.connect(
            self._conninfo, autocommit=True, application_name="heartbit-control"
        )
        async with contextlib.AsyncExitStack() as unless_ready:
            unless_ready.push_async_callback(session.close)
            if not self.worker_id:
                await self._register(session)
            # Blocks until the server notices that our former session is gone.
            await session.execute("SELECT pg_advisory_lock(%s, %s)", (LOCK_CLASS, self.worker_id))
            await session.execute(f"LISTEN {CHANNEL}")
            self._hurry.set()  # the next beat reads what was sent meanwhile
            unless_ready.pop_all()
        self._locked.set()
        return session

    async def _register(self, session: psycopg.AsyncConnection) -> None:
        cursor = await session.execute(
            "INSERT INTO agents_workerheartbeat"
            " (name, home, queues, slots, lease_seconds, sandbox, sandbox_problem)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s) RETURNING id",
            (*self._row, self.sandbox, self.sandbox_problem),
        )
        row = await cursor.fetchone()
        if row is None:
            raise RuntimeError("INSERT ... RETURNING returned no row")
        self.worker_id = row[0]
        # Runs held under its former rows are requeued without counting a crash.
        await session.execute(
            "UPDATE agents_workerheartbeat SET left_at = clock_timestamp()"
            " WHERE id = ANY (%s) AND left_at IS NULL",
            (self._former,),
        )
        self._former = []

    async def _listen(self) -> None:
        while True:
            try:
                # A lost session is replaced at once: its lock is free until then.
                if self._session is None or self._session.closed:
                    self._session = await self._connect()
                async for notice in self._session.notifies():
                    self._hear(notice.payload)
            except (psycopg.Error, OSError) as error:
                self._unlock()
                logger.warning("control session lost (%s); connecting again", error)
                if self._session is None:
                    await asyncio.sleep(RETRY_SECONDS)
                self._session = None

    def _unlock(self) -> None:
        if self._locked.is_set():
            self._unlocked_at = time.monotonic()
            self._locked.clear()

    def _hear(self, payload: str) -> None:
        verb, *ids = payload.split(":")
        if verb == "agent" or (verb == "worker" and ids == [str(self.worker_id)]):
            self._hurry.set()  # the next beat reads what has changed
            return
        if verb == "worker":
            return
        try:
            run_id, root_id = UUID(ids[0]), UUID(ids[1]) if ids[1:] else None
        except (ValueError, IndexError):
            logger.warning("unknown notification: %.80r", payload)
            return
        self._on_notice(verb, run_id, root_id)

    async def _prove(self) -> None:
        """Send heartbeats from a connection of its own, independent of a stuck LISTEN."""
        connection: psycopg.AsyncConnection | None = None
        try:
            while True:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._hurry.wait(), self._lease_seconds / 3)
                    await asyncio.sleep(HURRY_SECONDS)
                self._hurry.clear()
                try:
                    async with asyncio.timeout(self._lease_seconds / 3):
                        connection = connection or await psycopg.AsyncConnection.connect(
                            self._conninfo, autocommit=True, application_name="heartbit-heartbeat"
                        )
                        known = await self._beat(connection)
                except (psycopg.Error, OSError, TimeoutError) as error:
                    reason = error if str(error) else "timeout"
                    logger.warning("heartbeat failed (%s); trying again", reason)
                    self._hurry.set()
                    if connection is not None:
                        await connection.close()
                    connection = None
                    # Without a heartbeat other workers may claim the runs: stop them first.
                    if time.monotonic() - self._proven_at > 0.8 * self._lease_seconds:
                        await self._register_anew()
                else:
                    # Outside the timeout, which could leave a half-registered process for ever.
                    if not known:
                        logger.warning("this process was declared lost; registering again")
                        await self._register_anew()
                    elif self._is_locked_out():
                        # The server still keeps our former session, which is gone, and its lock.
                        logger.warning("the lock is not freed; registering again")
                        await self._register_anew()
        finally:
            if connection is not None:
                await connection.close()

    def _is_locked_out(self) -> bool:
        waited = time.monotonic() - self._unlocked_at
        return not self._locked.is_set() and waited > self._lease_seconds

    async def _beat(self, connection: psycopg.AsyncConnection) -> bool:
        """Update the heartbeat and handle requests; return False if the row is marked as left."""
        if not self.worker_id:
            return True  # the listener is registering it
        began = time.monotonic()
        cursor = await connection.execute(
            "UPDATE agents_workerheartbeat SET beat_at = clock_timestamp()"
            " WHERE id = %s AND left_at IS NULL RETURNING requested_action",
            (self.worker_id,),
        )
        row = await cursor.fetchone()
        if row is None:
            return False
        if began - self._proven_at > self._late_seconds:
            self._late_at = began
        self._proven_at = began
        self._beaten.set()
        if row[0] and self.on_requested_action is not None:
            self.on_requested_action(row[0])
        if self.on_heartbeat is not None:
            self.on_heartbeat()
        await self._on_beat()
        return True

    async def _register_anew(self) -> None:
        """Give up all runs and register again; a sweeper requeues the old row's runs."""
        self._on_lease_lost()
        self._locked.clear()
        self._unlocked_at = time.monotonic()
        self._former.append(self.worker_id)
        self.worker_id = 0
        self._proven_at = self._late_at = time.monotonic()
        # The listener is stopped before its session is closed: if the socket were closed during its
        # wait, another connection could reuse the descriptor, and both would hang or break.
        await aio.cancel_and_wait(self._listening)
        if self._session is not None:
            await self._session.close()
            self._session = None
        self._listening = asyncio.create_task(self._listen(), name="control-listen")
