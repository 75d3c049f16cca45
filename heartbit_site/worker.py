"""The bootstep that gives a Celery worker process its run host."""

from __future__ import annotations

from typing import Any

from celery import bootsteps
from celery.signals import worker_shutting_down

from agents.runtime import worker


class RunHost(bootsteps.StartStopStep):
    """Starts the process's run host before the worker consumes, and stops it after."""

    requires = ("celery.worker.components:Pool",)

    def start(self, parent: Any) -> None:
        """Register the process; it may claim runs from here on."""
        names = tuple(sorted(parent.app.amqp.queues.consume_from))
        worker.start(queues=names, slots=parent.pool.limit)
        worker_shutting_down.connect(_drain, weak=False)

    def stop(self, parent: Any) -> None:
        """Hand back what is left and sign off."""
        worker.stop()


def _drain(**_: object) -> None:
    # Hands held runs back at once: a warm shutdown would otherwise wait for their models.
    worker.drain()
