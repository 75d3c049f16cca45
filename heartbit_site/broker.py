"""Keeps a worker alive when the broker goes away: a guard for kombu 5.7.

When the connection is lost while messages are unacknowledged, Celery 5.7 first collects the
connection, which takes kombu's client away from its transport, and then closes it. Closing may
restore the unacknowledged messages, which asks the transport for the address of the broker:

    AttributeError: 'NoneType' object has no attribute 'hostname'

That is no connection error, so the worker ends with "Unrecoverable error" instead of reconnecting.
The acknowledgement of a task that was running at that moment takes the same path when it arrives.

The guard lets a channel remember its address. Closing then fails with an ordinary connection error,
which Celery expects, and a late acknowledgement reaches the restarted broker, as with kombu 5.6:
a guard that only raised a connection error would have every such task run a second time after the
visibility timeout. tests/pool/test_broker.py kills a broker under load and counts both; when it
passes without the guard, remove this module (docs/decisions/0002-celery-version-and-pool.md).
"""

from __future__ import annotations

import functools
from importlib import metadata
from typing import Any

import redis.exceptions
from kombu.transport import redis as transport

__all__ = ["install"]

_AFFECTED = "5.7."


def install() -> bool:
    """Install the guard, once, if this kombu needs it.

    Returns:
        Whether the guard is in place; False on a kombu it was not written for.
    """
    if not metadata.version("kombu").startswith(_AFFECTED):
        return False
    channel: Any = transport.Channel
    if not hasattr(channel._connparams, "__wrapped__"):
        channel._connparams = _remembering(channel._connparams)
    return True


def _remembering(original: Any) -> Any:
    @functools.wraps(original)
    def _connparams(channel: Any, asynchronous: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002
        known: dict[bool, dict[str, Any]] = channel.__dict__.setdefault("_known_connparams", {})
        if channel.connection is not None and channel.connection.client is not None:
            known[asynchronous] = original(channel, asynchronous)
        elif asynchronous not in known:
            raise redis.exceptions.ConnectionError("the channel's broker connection is gone")
        return dict(known[asynchronous])

    return _connparams
