"""Send Celery messages by task name, so that no action imports a task.

A wake-up says so little that its message is written here, in Celery's protocol
(https://docs.celeryq.dev/en/stable/internals/protocol.html), instead of being derived from a
signature each time: that costs several times what sending it does.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import time
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from celery import Celery
    from kombu import Producer

logger = logging.getLogger(__name__)

# Messages are wake-ups: the sweeper resends a lost one within seconds. Waiting for an unavailable
# broker would only block the caller, so it is tried once, for as long as a socket waits
# (heartbit_site.celery). After a timeout the next callers do not try.
PATIENCE_SECONDS = 0.5
LEAVE_ALONE_SECONDS = 1.0
# Celery requires headers that no consumer of ours reads.
_HEADERS: dict[str, Any] = {
    "lang": "py",
    "shadow": None,
    "eta": None,
    "retries": 0,
    "timelimit": [None, None],
    "parent_id": None,
    "kwargsrepr": "{}",
    "origin": "heartbit",
    # Asking for a result would subscribe to it: a round trip, and an error that no publisher
    # expects when the broker is unavailable. A chord counts its parts all the same.
    "ignore_result": True,
    "replaced_task_nesting": 0,
    "stamped_headers": None,
    "stamps": {},
}
_EMBEDDED: dict[str, Any] = {"callbacks": None, "errbacks": None, "chain": None}


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


def send(message: TaskMessage) -> None:
    """Publish a wake-up. An unavailable broker is logged, never raised."""
    if _Silence.holds():
        return
    with _broker() as producer:
        _publish(producer, message)


def send_chord(header: Sequence[TaskMessage], body: TaskMessage) -> None:
    """Publish the header's messages together, and the body's once all their tasks have ended.

    An unavailable broker is logged, never raised.
    """
    if _Silence.holds():
        return
    group = str(uuid.uuid4())
    options = {"queue": body.queue, "ignore_result": True}
    app = application()
    callback = app.signature(body.task, args=(body.about,), immutable=True, options=options)
    with _broker() as producer:
        # Before the parts: the last part to end compares the number of ended parts with this one.
        app.backend.set_chord_size(group, len(header))
        with producer.batch():  # type: ignore[attr-defined]  # the stubs are of an older kombu
            for index, message in enumerate(header):
                _publish(producer, message, group=group, index=index, body=callback)


class _Silence:
    """Backoff after a timeout of the broker: until it ends no caller waits for the broker.

    Any thread may set ``until``, a time of the monotonic clock.
    """

    until = 0.0

    @classmethod
    def holds(cls) -> bool:
        """Return True during the backoff."""
        return time.monotonic() < cls.until

    @classmethod
    def heard(cls, began: float) -> None:
        """Start a backoff if an attempt that began then timed out: a refusal takes no time."""
        now = time.monotonic()
        if now - began > PATIENCE_SECONDS:
            cls.until = now + LEAVE_ALONE_SECONDS


@contextlib.contextmanager
def _broker() -> Iterator[Producer]:
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
    except OperationalError as error:
        _Silence.heard(began)
        logger.warning("the broker is unavailable (%s); the sweeper sends wake-ups instead", error)


def _publish(
    producer: Producer,
    message: TaskMessage,
    *,
    group: str | None = None,
    index: int | None = None,
    body: dict[str, Any] | None = None,
) -> None:
    """Publish a message; ``group``, ``index`` and ``body`` say its place in a chord."""
    task_id = str(uuid.uuid4())
    arguments = (message.about,) if message.about else ()
    expires = None
    if message.seconds is not None:
        expires = (datetime.now(UTC) + timedelta(seconds=message.seconds)).isoformat()
    producer.publish(
        (arguments, {}, _EMBEDDED | {"chord": body}),
        exchange="",  # straight to the queue of that name
        routing_key=message.queue,
        serializer="json",
        correlation_id=task_id,
        reply_to="",
        headers=_HEADERS
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
