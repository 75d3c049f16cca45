"""Keeps a worker alive when the broker goes away: a guard for kombu 5.7.

When the connection is lost while messages are unacknowledged, Celery first collects the connection
(kombu takes the client away from its transport) and then closes it; closing restores the
unacknowledged messages, which asks the transport for its client:

    AttributeError: 'NoneType' object has no attribute 'hostname'

An AttributeError is no connection error, so the worker ends with "Unrecoverable error" instead of
reconnecting. An acknowledgement that arrives late from a task thread takes the same path. The
guard says what is the case, that this channel's connection is gone, in an exception every caller
expects. tests/pool/test_broker_loss.py kills a broker under load; drop this module when it passes
without (docs/decisions/0002-celery-version-and-pool.md).
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
        channel._connparams = _guarded(channel._connparams)
    return True


def _guarded(original: Any) -> Any:
    @functools.wraps(original)
    def _connparams(channel: Any, *args: Any, **kwargs: Any) -> Any:
        if channel.connection is None or channel.connection.client is None:
            raise redis.exceptions.ConnectionError("the channel's broker connection is gone")
        return original(channel, *args, **kwargs)

    return _connparams
