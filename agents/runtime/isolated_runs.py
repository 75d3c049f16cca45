"""Isolated execution of a suspect run in a process of its own, where it harms no other run.

A run is suspect once its workers crashed often without progress. The child is an ordinary worker
with one slot, its own heartbeat row and lock: if the run kills the child, a sweeper finds that the
child was lost while it held only this run.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

MODULE = "heartbit_site.isolated_run"

logger = logging.getLogger(__name__)


class IsolatedRunner:
    """Runner of suspect runs, one at a time because each child needs the memory of a worker."""

    def __init__(self) -> None:
        self._busy = self._leaving = False
        self._child: asyncio.subprocess.Process | None = None
        self._turned_away: set[UUID] = set()

    async def __call__(self, run_id: UUID) -> Sequence[UUID]:
        """Run one slice in a child process and return once it has ended.

        If another child is running, return at once: a slot that waited here would be idle.

        Returns:
            Runs that were refused meanwhile; wake them, else a sweep does after some seconds.
        """
        if self._busy or self._leaving:
            self._turned_away.add(run_id)
            return ()
        self._busy = True
        try:
            await self._run(run_id)
        finally:
            self._busy, self._child = False, None
        waiting, self._turned_away = tuple(self._turned_away), set()
        return waiting

    def leave(self) -> None:
        """Start no more children, and ask the running one to release its run."""
        self._leaving = True
        self._tell()

    async def _run(self, run_id: UUID) -> None:
        logger.warning("run %s is a suspect: it is tried alone", run_id)
        self._child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", MODULE, str(run_id), stdin=asyncio.subprocess.DEVNULL
        )
        if self._leaving:
            self._tell()
        try:
            code = await self._child.wait()
        except asyncio.CancelledError:
            # Not killed: that would count as the suspect's crash, and the child drains by itself.
            self._tell()
            await self._child.wait()
            raise
        if code:
            logger.warning("the process of run %s ended with code %d", run_id, code)

    def _tell(self) -> None:
        if self._child is not None:
            with contextlib.suppress(ProcessLookupError):
                self._child.send_signal(signal.SIGTERM)
