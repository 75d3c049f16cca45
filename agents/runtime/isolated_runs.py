"""Try a suspect alone: one run in a process of its own, where it can harm no neighbour.

A run is suspicious once its workers died often without its getting any further. The child is a
worker like any other, with one slot, its own heartbeat row and lock: when the run kills it, a
sweeper finds that it died with this run alone in its hands.
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
    """One at a time: each needs the memory of a worker."""

    def __init__(self) -> None:
        self._busy = self._leaving = False
        self._child: asyncio.subprocess.Process | None = None
        self._turned_away: set[UUID] = set()

    async def __call__(self, run_id: UUID) -> Sequence[UUID]:
        """Work one slice of the run in a child process; returns when it has ended.

        While another one is at work it returns at once: a slot that waited here would serve nobody.

        Returns:
            The runs that were turned away meanwhile; ring them, or a sweep does some seconds later.
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
        """Start none any more; the one at work is told to hand its run back."""
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
            # Never killed: that would be a death alone, and it has a time to drain of its own.
            self._tell()
            await self._child.wait()
            raise
        if code:
            logger.warning("the process of run %s ended with code %d", run_id, code)

    def _tell(self) -> None:
        if self._child is not None:
            with contextlib.suppress(ProcessLookupError):
                self._child.send_signal(signal.SIGTERM)
