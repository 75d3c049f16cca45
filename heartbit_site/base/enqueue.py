"""Send Celery messages by task name, so that no action imports a task.

The message of a wake-up is a copy of one that Celery wrote
(https://docs.celeryq.dev/en/stable/internals/protocol.html): deriving it from a signature each time
would cost several times as much as sending it.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from celery import Celery
    from kombu import Producer

logger = logging.getLogger(__name__)

# Messages are wake-ups: the sweeper resends a lost one within seconds. Waiting for an unavailable
# broker would only block the caller, so it is tried once, up to the socket timeout
# (heartbit_site.celery). After a timeout, the next callers skip the attempt.
PATIENCE_SECONDS = 0.5
LEAVE_ALONE_SECONDS = 1.0
_silent_until = 0.0  # of the monotonic clock; any thread may set it
_is_away = False  # at the last attempt of any thread


@dataclass(frozen=True, slots=True)
class TaskMessage:
    """A Celery message.

    Attributes:
        task: The task's name.
        about: The task's argument, an id; empty for none.
        queue: The queue that it is sent to.
        seconds: Time until it expires unexecuted; None for never.
    """

    task: str
    about: str
    queue: str
    seconds: float | None = None


@functools.cache
def application() -> Celery:
    """Return the Celery application; the first message imports it, and most commands send none."""
    app: Celery = import_string(settings.HEARTBIT_CELERY_APP)
    return app


def is_away() -> bool:
    """Return True if the broker was unavailable when this process last sent a message."""
    return _is_away


def send(message: TaskMessage) -> None:
    """Publish a wake-up. An unavailable broker is logged, never raised."""
    if time.monotonic() < _silent_until:
        return
    with _broker() as producer:
        _publish(producer, message)


def send_chord(header: Sequence[TaskMessage], body: TaskMessage) -> None:
    """Publish the header's messages together, and the body's once all their tasks have ended.

    An unavailable broker is logged, never raised.
    """
    if time.monotonic() < _silent_until:
        return
    group = str(uuid.uuid4())
    options = {"queue": body.queue, "ignore_result": True}
    app = application()
    callback = app.signature(body.task, args=(body.about,), immutable=True, options=options)
    with _broker() as producer:
        # Before the parts: the last part compares the number of ended parts with this count.
        app.backend.set_chord_size(group, len(header))
        with producer.batch():  # type: ignore[attr-defined]  # the stubs are of an older kombu
            for index, message in enumerate(header):
                _publish(producer, message, group=group, index=index, body=callback)


@contextlib.contextmanager
def _broker() -> Iterator[Producer]:
    global _silent_until, _is_away
    from kombu.exceptions import OperationalError  # noqa: PLC0415  as slow as ``application``

    began = time.monotonic()
    try:
        with application().producer_pool.acquire(block=True) as producer:
            connection: Any = producer.connection
            away = (
                *connection.recoverable_connection_errors,
                *connection.recoverable_channel_errors,
            )
            try:
                yield producer
            except away as error:
                raise OperationalError(str(error)) from error
        _is_away = False
    except OperationalError as error:
        _is_away, now = True, time.monotonic()
        if now - began > PATIENCE_SECONDS:  # a refused connection takes no time
            _silent_until = now + LEAVE_ALONE_SECONDS
        logger.warning("the broker is unavailable (%s); the sweeper sends wake-ups instead", error)


def _publish(
    producer: Producer,
    message: TaskMessage,
    *,
    group: str | None = None,
    index: int | None = None,
    body: dict[str, Any] | None = None,
) -> None:
    """Publish a message; ``group``, ``index`` and ``body`` place it in a chord."""
    task_id = str(uuid.uuid4())
    arguments = (message.about,) if message.about else ()
    expires = None
    if message.seconds is not None:
        expires = (datetime.now(UTC) + timedelta(seconds=message.seconds)).isoformat()
    template = _template()
    producer.publish(
        (arguments, {}, template.body[2] | {"chord": body}),
        exchange="",  # directly to the queue of that name
        routing_key=message.queue,
        serializer="json",
        correlation_id=task_id,
        reply_to="",
        headers=template.headers
        | {
            "task": message.task,
            "id": task_id,
            "expires": expires,
            "root_id": task_id,
            "argsrepr": repr(arguments),
            "group": group,
            "group_index": index,
        },
    )


@functools.cache
def _template() -> Any:
    """Return the message of a task without a name and arguments."""
    # Asking for a result would subscribe to it: a round trip, and an error that no publisher
    # expects when the broker is unavailable. A chord counts its parts all the same.
    amqp: Any = application().amqp
    return amqp.as_task_v2("", "", origin="heartbit", ignore_result=True)
