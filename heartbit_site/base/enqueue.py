"""Send a Celery message by task name, so that no action imports a task."""

from __future__ import annotations

import logging
from typing import Any

from celery import Signature, current_app
from kombu.exceptions import OperationalError

logger = logging.getLogger(__name__)

# The broker is a doorbell: what a failed publish leaves behind, the sweeper rings within seconds.
# Waiting for a broker that is away would only block the caller.
_RETRY = {"max_retries": 1, "interval_start": 0, "interval_step": 0.1, "interval_max": 0.1}


def signature(task: str, *args: str, queue: str) -> Signature[Any]:
    """An immutable signature of a task, by name.

    Nobody reads its result. Asking for one would subscribe to it here: a round trip, and an error
    that no publisher expects when the broker is away. A chord counts its parts all the same.
    """
    options = {"queue": queue, "ignore_result": True}
    return current_app.signature(task, args=args, immutable=True, options=options)


def send(message: Any) -> None:
    """Publish a signature or a chord. A broker that is away is logged, never raised."""
    try:
        message.apply_async(retry_policy=_RETRY)
    except OperationalError as error:
        logger.warning("the broker is away (%s); the sweeper will ring instead", error)
