"""The Celery bootstep that starts a worker's run host, and carries out requested actions."""

from __future__ import annotations

import logging
import os
import signal
import sys
from typing import Any

from celery import bootsteps
from celery.signals import worker_shutting_down

from agents.housekeeping.chat_connections import ChatConnections
from agents.housekeeping.scheduler_thread import SchedulerThread
from agents.runtime.execution import worker
from heartbit_site.base.process_memory import collect_seldom, settle
from heartbit_site.base.queues import SYSTEM
from scheduling.actions.fire_due import fire_due

logger = logging.getLogger(__name__)

_asked: list[str] = []  # the requested action, at most one


class RunHost(bootsteps.StartStopStep):
    """A bootstep that starts the run host before the worker consumes, and stops it afterwards."""

    requires = ("celery.worker.components:Pool",)

    def start(self, parent: Any) -> None:
        """Register the process; it may claim runs from here on."""
        queues = parent.app.amqp.queues.consume_from
        for queue in queues.values():
            # A run's message is only a wake-up: a sweeper resends one that this process loses. So
            # deliveries are not recorded, which would cost two round trips each.
            queue.no_ack = queue.name != SYSTEM
        names = tuple(sorted(queues))
        settle()
        collect_seldom()
        # Before anything is claimed: a stop a moment later has to requeue those runs as well.
        worker_shutting_down.connect(_drain, weak=False)
        worker.start(queues=names, slots=parent.pool.limit)
        worker.host().process.control.on_requested_action = _obey
        self._clock = SchedulerThread(fire_due)
        self._clock.start()
        self._chats = ChatConnections()
        if SYSTEM in names:
            self._chats.start()

    def stop(self, parent: Any) -> None:
        """Stop firing schedules, leave chat apps, requeue the remaining runs, and sign off."""
        self._clock.stop()
        self._chats.stop()
        worker.stop()


def _drain(**_: object) -> None:
    # Requeues claimed runs at once: a warm shutdown would otherwise wait for their models.
    worker.drain()


def _obey(wanted: str) -> None:
    """Stop as on SIGTERM, which drains."""
    if not _asked:
        logger.warning("asked to %s", wanted)
        _asked.append(wanted)
        os.kill(os.getpid(), signal.SIGTERM)


def restart_if_asked() -> None:
    """Replace the process by the same command, if a restart was requested.

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
