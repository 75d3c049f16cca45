"""Try a suspect alone: one run in a process of its own, where it can harm no neighbour.

A run is suspicious once its workers died twice without its getting any further. The child is a
worker like any other, with one slot, its own heartbeat row and lock: when the run kills it, a
sweeper finds that it died with this run alone in its hands.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uuid import UUID

MODULE = "heartbit_site.alone"
END_SECONDS = 35.0

logger = logging.getLogger(__name__)


class AloneProcesses:
    """Starts them one after the other: each needs the memory of a worker."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._wanted: set[UUID] = set()

    async def __call__(self, run_id: UUID) -> None:
        """Work one slice of the run in a child process; returns when it has ended."""
        if run_id in self._wanted:
            return  # rung twice
        self._wanted.add(run_id)
        try:
            async with self._turn:
                await self._run(run_id)
        finally:
            self._wanted.discard(run_id)

    async def _run(self, run_id: UUID) -> None:
        logger.warning("run %s is a suspect: it is tried alone", run_id)
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", MODULE, str(run_id), stdin=asyncio.subprocess.DEVNULL
        )
        try:
            code = await child.wait()
        except asyncio.CancelledError:
            child.send_signal(signal.SIGTERM)  # it hands the run back, as this process does
            try:
                async with asyncio.timeout(END_SECONDS):
                    await child.wait()
            except TimeoutError:
                child.kill()
                await child.wait()
            raise
        if code:
            logger.warning("the process of run %s ended with code %d", run_id, code)
