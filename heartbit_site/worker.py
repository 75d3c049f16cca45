"""The bootstep that gives a Celery worker process its run host, and obeys what is asked of it."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
from typing import Any

from celery import bootsteps
from celery.signals import worker_shutting_down

from agents.housekeeping.scheduler_thread import SchedulerThread
from agents.runtime import worker
from heartbit_site.base.queues import SYSTEM
from scheduling.actions.fire_due import fire_due

logger = logging.getLogger(__name__)

#: Objects made before the youngest are looked at for cycles, and how often the older ones are. As
#: Python has it, a burst of runs costs an eighth of a worker's processor for garbage it hardly has.
GARBAGE = (50_000, 20, 100)

_asked: list[str] = []  # what somebody asked this process to do; it leaves once


class RunHost(bootsteps.StartStopStep):
    """Starts the process's run host before the worker consumes, and stops it after."""

    requires = ("celery.worker.components:Pool",)

    def start(self, parent: Any) -> None:
        """Register the process; it may claim runs from here on."""
        queues = parent.app.amqp.queues.consume_from
        for queue in queues.values():
            # A run's message is only a nudge: one that dies with this process is rung again by a
            # sweeper. So nobody keeps books of who has which, two round trips for each.
            queue.no_ack = queue.name != SYSTEM
        names = tuple(sorted(queues))
        gc.freeze()  # what is here by now stays
        gc.set_threshold(*GARBAGE)
        # Before anything is claimed: whoever leaves a moment later hands it back as well.
        worker_shutting_down.connect(_drain, weak=False)
        worker.start(queues=names, slots=parent.pool.limit)
        worker.host().process.control.on_requested_action = _obey
        self._clock = SchedulerThread(fire_due)
        self._clock.start()

    def stop(self, parent: Any) -> None:
        """Fire nothing more, hand back what is left, and sign off."""
        self._clock.stop()
        worker.stop()


def _drain(**_: object) -> None:
    # Hands held runs back at once: a warm shutdown would otherwise wait for their models.
    worker.drain()


def _obey(wanted: str) -> None:
    """Leave as on SIGTERM, which is the one way out that drains."""
    if not _asked:
        logger.warning("asked to %s", wanted)
        _asked.append(wanted)
        os.kill(os.getpid(), signal.SIGTERM)


def restart_if_asked() -> None:
    """Become the same command anew, in the same process, if a restart was asked for.

    Call it when everything is stopped: open files and threads end here, the process id stays.
    """
    if _asked != ["restart"]:
        return
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606  our own command
