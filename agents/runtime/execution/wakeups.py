"""Wake-ups of runs after a commit: through the fleet's broker, or in this process."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

from agents.runs import wake_messages

if TYPE_CHECKING:
    from agents.runs.lease import Child

logger = logging.getLogger(__name__)


class RunWaker(Protocol):
    """Sender of wake-ups after a commit. Returns at once; the sweeper recovers lost wake-ups."""

    def wake(self, run: Child) -> None:
        """Wake a run that may start."""
        ...

    def fan_out(self, children: Sequence[Child], parent: Child) -> None:
        """Wake the children, and the parent when all have ended."""
        ...

    def suspended(self, run: Child) -> None:
        """Notify people of a run that waits, possibly for them."""
        ...

    def escalated(self, wait_id: int) -> None:
        """Notify the people who may decide a wait after its escalation."""
        ...


MAX_BACKLOG = 1_000


class FleetRunWaker:
    """Publisher to Celery from threads of its own, because the broker's client is synchronous."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(2, thread_name_prefix="publish")
        self._room = threading.Semaphore(MAX_BACKLOG)  # acquired on the loop, released by threads

    def close(self) -> None:
        """Drop unpublished messages; the sweepers wake those runs."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def wake(self, run: Child) -> None:
        """Publish a wake-up."""
        self._submit(lambda: wake_messages.wake_run(run.id, queue=run.queue))

    def fan_out(self, children: Sequence[Child], parent: Child) -> None:
        """Publish a chord."""
        header = [(child.id, child.queue) for child in children]
        self._submit(lambda: wake_messages.fan_out(header, (parent.id, parent.queue)))

    def suspended(self, run: Child) -> None:
        """Notify browsers, and send mails if the installation enables them."""
        self._submit(lambda: wake_messages.announce(run.id))

    def escalated(self, wait_id: int) -> None:
        """Notify browsers, and send mails if the installation enables them."""
        self._submit(lambda: wake_messages.announce_escalation(wait_id))

    def _submit(self, publish: Callable[[], None]) -> None:
        if not self._room.acquire(blocking=False):
            return  # the broker does not respond; more messages would only fill the memory
        self._executor.submit(publish).add_done_callback(self._published)

    def _published(self, future: Future[None]) -> None:
        self._room.release()
        if not future.cancelled() and (error := future.exception()) is not None:
            logger.error("publishing failed; the sweeper will wake the runs", exc_info=error)


class LocalRunWaker:
    """Starter of slices in this process, at most ``slots`` at once."""

    def __init__(self, *, slots: int) -> None:
        self._slots = asyncio.Semaphore(slots)
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting: set[UUID] = set()
        self._execute: Callable[[UUID, str], Awaitable[str]] | None = None

    def connect(self, execute: Callable[[UUID, str], Awaitable[str]]) -> None:
        """Set the function that executes a run (id, task id); it needs this waker in turn."""
        self._execute = execute

    def wake(self, run: Child) -> None:
        """Start a slice of the run as soon as a slot is free."""
        if run.id in self._waiting:
            return
        self._waiting.add(run.id)
        task = asyncio.get_running_loop().create_task(self._serve(run.id))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def fan_out(self, children: Sequence[Child], parent: Child) -> None:
        """Start the children; the last of them to end wakes the parent."""
        for child in children:
            self.wake(child)

    def suspended(self, run: Child) -> None:
        """Do nothing: the person who started the run is present."""

    def escalated(self, wait_id: int) -> None:
        """Do nothing: the inbox shows the wait."""

    async def _serve(self, run_id: UUID) -> None:
        if self._execute is None:
            raise RuntimeError("connect() was not called")
        async with self._slots:
            self._waiting.discard(run_id)
            await self._execute(run_id, f"local-{run_id}")
