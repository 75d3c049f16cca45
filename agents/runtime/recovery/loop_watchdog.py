"""A watchdog that ends the process when its event loop stops responding.

One coroutine that computes or blocks for ever blocks every run of the process, and its heartbeats,
and no supervisor notices. The process is ended by SIGKILL, so that its runs are recovered like
those of any killed worker, and a run that blocks the loop again ends in quarantine.

Silence counts only while the process gets processor time: a thread counts its own ticks, which stop
with a stopped process, a suspended machine or a lack of free processors. Code that keeps the
interpreter's lock stops that thread, too. Then a timer on the process's own CPU time ends the
process, in the kernel and in C, without the lock.
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Final
from uuid import UUID

from agents.runtime.recovery import run_tasks

logger = logging.getLogger(__name__)

_TICKS: Final = 10  # during the longest silence of the loop
_LONGEST_TICK: Final = 1.0
#: Time for the last log messages of the process, which may need a lock that the loop holds.
_PARTING_SECONDS: Final = 5.0
_STDERR: Final = 2
_NANOSECONDS: Final = 1e9


class LoopWatchdog:
    """Watchdog over the loop that starts it.

    Args:
        seconds: Silence of the loop after which the process is ended; 0: never.
        spare: Called in a thread, before the process ends, with the run that blocks the loop.
    """

    def __init__(self, seconds: float, spare: Callable[[UUID], None]) -> None:
        self._seconds = seconds
        self._tick = min(_LONGEST_TICK, seconds / _TICKS)
        self._spare = spare
        self._signs = 0  # signs of life so far
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Watch the running loop."""
        if not self._seconds:
            return
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._schedule = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat")
        run_tasks.watch(self._loop)
        faulthandler.register(signal.SIGPROF, file=_STDERR, all_threads=True, chain=True)
        self._give_sign()
        self._wind_timer()  # a run may take the lock before the thread's first tick
        self._thread = threading.Thread(target=self._watch, name="loop-watchdog", daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        """Stop watching."""
        self._over.set()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)
            self._thread = None
            signal.setitimer(signal.ITIMER_PROF, 0)

    def _give_sign(self) -> None:
        self._signs += 1
        if not self._over.is_set():
            self._loop.call_later(self._tick, self._give_sign)

    def _wind_timer(self) -> None:
        # CPU time of all processors: other threads may compute next to the one with the lock.
        signal.setitimer(signal.ITIMER_PROF, self._seconds * len(os.sched_getaffinity(0)))

    def _watch(self) -> None:
        silent, signs, waited, at = 0.0, 0, 0.0, time.monotonic()
        while not self._over.wait(self._tick):
            self._wind_timer()
            elapsed, at = time.monotonic() - at, time.monotonic()
            starved, waited = max(0.0, self._waited() - waited), self._waited()
            if self._signs != signs:
                silent, signs = 0.0, self._signs
                continue
            silent += max(0.0, min(elapsed, 2 * self._tick) - starved)
            if silent >= self._seconds:
                self._end()

    def _waited(self) -> float:
        """Return the seconds that the loop's thread has waited for a processor in all."""
        try:
            return int(self._schedule.read_text().split()[1]) / _NANOSECONDS
        except (OSError, IndexError):  # a kernel that does not count it
            return 0.0

    def _end(self) -> None:
        """Log the reason, release the other runs, and end the process."""
        faulthandler.dump_traceback_later(_PARTING_SECONDS, exit=True, file=_STDERR)
        run_id = run_tasks.running(self._loop)
        frame = sys._current_frames().get(self._loop_thread)
        logger.critical(
            "The event loop has been silent for %g s, held up by %s: this worker ends itself.\n%s",
            self._seconds,
            "no run" if run_id is None else f"run {run_id}",
            "".join(traceback.format_stack(frame)) if frame is not None else "",
        )
        try:
            if run_id is not None:
                self._spare(run_id)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
