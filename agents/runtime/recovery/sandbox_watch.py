"""Watch on the sandbox of a worker: its row says which one holds, or why none does."""

from __future__ import annotations

import asyncio
import logging
import time
from functools import partial
from typing import TYPE_CHECKING, Final

from django.db import DatabaseError
from django.db.models import Q

from agents.models import WorkerHeartbeat
from heartbit_site.base import aio, orm
from tools.sandbox.choice import find_sandbox
from tools.sandbox.probe import KEEP_SECONDS
from tools.sandbox.program import SandboxError

if TYPE_CHECKING:
    from agents.runtime.recovery.control_session import ControlSession

logger = logging.getLogger(__name__)

_LONGEST: Final = WorkerHeartbeat._meta.get_field("sandbox_problem").max_length


class SandboxWatch:
    """Probes the sandbox about once a minute, driven by the heartbeats of a process.

    Args:
        control: The control session of the process; the sandbox's name is kept there too.
    """

    def __init__(self, control: ControlSession) -> None:
        self._control = control
        self._probing: asyncio.Task[None] | None = None
        self._next_at = 0.0

    def start(self) -> None:
        """Probe now, and again while the process has heartbeats."""
        self._control.on_heartbeat = self._beat
        self._beat()

    async def stop(self) -> None:
        """End a probe that is running."""
        self._control.on_heartbeat = None
        if self._probing is not None:
            await aio.cancel_and_wait(self._probing)

    async def look(self) -> None:
        """Probe the sandbox, unless its verdict is fresh, and write what has changed."""
        control = self._control
        try:
            name, problem = (await find_sandbox()).name, ""
        except SandboxError as error:
            name, problem = "", str(error)[:_LONGEST]
        if (name, problem) != (control.sandbox, control.sandbox_problem):
            logger.info("%s", problem or f"The sandbox {name} holds.")
        control.sandbox, control.sandbox_problem = name, problem
        # Compared in the database: the row is another one after a lost lease.
        row = WorkerHeartbeat.objects.filter(pk=control.worker_id)
        changed = row.exclude(Q(sandbox=name) & Q(sandbox_problem=problem))
        try:
            await orm.run_in_thread(partial(changed.update, sandbox=name, sandbox_problem=problem))
        except DatabaseError as error:
            logger.warning("the sandbox's state was not written (%s); trying again", error)
        self._next_at = time.monotonic() + KEEP_SECONDS

    def _beat(self) -> None:
        """Start a probe if the last one has ended a while ago; a heartbeat never waits for it."""
        if self._probing is not None and not self._probing.done():
            return
        if time.monotonic() >= self._next_at:
            self._probing = asyncio.create_task(self.look(), name="sandbox")
