"""Isolated execution of suspect runs in separate processes, where they cannot crash other runs.

A run is suspect once its workers crashed repeatedly without progress. Most suspects are innocent:
they shared a worker with the run that crashed it. So a few are tried in one process, and fewer
after each crash, until the faulty run crashes alone: group testing by halves (Dorfman 1943; Hwang
1972). The process is an ordinary worker with its own heartbeat row and lock: if it crashes, a
sweeper finds the runs that it held.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

MODULE = "heartbit_site.isolated_run"
#: Maximum number of processes at once: each needs as much memory as a worker.
MOST_CHILDREN: Final = 2
#: Suspects in one process after the two crashes that make a run suspect; a further crash halves it.
MOST_TOGETHER: Final = 8
_FIRST_CRASHES: Final = 2
#: Wait for more suspects: the crash of a fleet makes many, found one by one, which share a process.
GATHER_SECONDS: Final = 0.5

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Suspect:
    """A run to try, with the number of crashes of its workers since its last progress."""

    id: UUID
    crashes: int

    @property
    def most_together(self) -> int:
        """Largest number of runs that its process may hold, including this run."""
        return max(1, MOST_TOGETHER >> max(0, self.crashes - _FIRST_CRASHES))


#: Returns those of the runs that may still be tried.
FindSuspects = Callable[[Collection[UUID]], Awaitable[Iterable[Suspect]]]


class IsolatedRunner:
    """Runner of suspect runs, in the order in which they were found."""

    def __init__(self) -> None:
        self._waiting: dict[UUID, None] = {}
        self._children: set[asyncio.subprocess.Process] = set()
        self._trials = 0
        self._is_leaving = False

    async def __call__(self, run_id: UUID, find: FindSuspects) -> None:
        """Try a suspect, then those found meanwhile; return when none is left.

        If enough processes are running, return at once: when one of them ends, the next process
        tries this suspect, and waiting here would block a slot.
        """
        self._waiting[run_id] = None
        if self._trials >= MOST_CHILDREN:
            return
        self._trials += 1
        try:
            await asyncio.sleep(GATHER_SECONDS)
            while self._waiting and not self._is_leaving:
                asked = tuple(self._waiting)
                await self._try(self._take_group(asked, await find(asked)))
        finally:
            self._trials -= 1

    def leave(self) -> None:
        """Start no more processes, and ask the running ones to release their runs."""
        self._is_leaving = True
        for child in self._children:
            _ask_to_leave(child)

    def _take_group(self, asked: Sequence[UUID], found: Iterable[Suspect]) -> Sequence[UUID]:
        """Take the first suspects that may share a process; drop those that no longer exist."""
        suspects = {suspect.id: suspect for suspect in found}
        group: list[Suspect] = []
        for run_id in asked:
            if run_id not in self._waiting:
                continue  # another trial has taken the run meanwhile
            suspect = suspects.get(run_id)
            if suspect is not None:
                most = min(one.most_together for one in (*group, suspect))
                if len(group) >= most:
                    break
                group.append(suspect)
            del self._waiting[run_id]
        return [suspect.id for suspect in group]

    async def _try(self, group: Sequence[UUID]) -> None:
        """Run one slice of each suspect in one process; return once the process has ended."""
        if not group:
            return
        names = [str(run_id) for run_id in group]
        logger.warning("trying suspect runs in a separate process: %s", ", ".join(names))
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", MODULE, *names, stdin=asyncio.subprocess.DEVNULL
        )
        self._children.add(child)
        try:
            if self._is_leaving:
                _ask_to_leave(child)
            code = await child.wait()
        except asyncio.CancelledError:
            # Do not kill the child: that would count as a crash, and it drains by itself.
            _ask_to_leave(child)
            await child.wait()
            raise
        finally:
            self._children.discard(child)
        if code:
            logger.warning("the process of the runs %s ended with code %d", ", ".join(names), code)


def _ask_to_leave(child: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        child.send_signal(signal.SIGTERM)
