"""Patches for kombu 5.7: a worker survives the loss of its broker, and messages cost less.

When the connection is lost while messages are unacknowledged, Celery 5.7 first collects the
connection, which removes kombu's client from its transport, and then closes it. Closing may
restore the unacknowledged messages, which reads the broker's address from the transport:

    AttributeError: 'NoneType' object has no attribute 'hostname'

That is not a connection error, so the worker ends with "Unrecoverable error" instead of
reconnecting. The acknowledgement of a task that was running at that moment takes the same path.

The channel of this module remembers its address. Closing then fails with an ordinary connection
error, which Celery expects, and a late acknowledgement reaches the restarted broker, as with kombu
5.6: a patch that only raised a connection error would have every such task run a second time after
the visibility timeout. tests/pool/test_broker.py kills a broker under load and counts both; when it
passes without the patch, remove it (docs/decisions/0002-celery-version-and-pool.md).

The channel (``LeanChannel``) also does less for a message: a worker without it spends a fifth more
processor time. It survives malformed messages and refusals of the broker, too.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable
from importlib import metadata
from queue import Empty
from typing import Any

import redis.exceptions
from kombu.transport import redis as transport

# The stubs of kombu lack private and new attributes.
_Channel: Any = transport.Channel
_QoS: Any = transport.QoS

_AFFECTED = "5.7."
# Errors of parsing; neither connection errors nor kombu's ``Empty``.
_UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
logger = logging.getLogger(__name__)

REFUSED_SECONDS = 1.0


class _Pings:
    """A connection whose pings may be refused, by a broker with a full disk for instance."""

    def _send_ping(self) -> None:
        with contextlib.suppress(redis.exceptions.ResponseError):
            super()._send_ping()  # type: ignore[misc]  # of redis-py's connection


class LeanQoS(_QoS):  # type: ignore[misc]  # as above
    """Delivered messages that are not acknowledged yet; a refused acknowledgement is retried."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._refused: list[str] = []
        super().__init__(*args, **options)

    def ack(self, delivery_tag: str) -> None:
        """Acknowledge, and retry later if refused: else the message would be delivered again."""
        try:
            super().ack(delivery_tag)
        except redis.exceptions.ResponseError as error:
            self._refused.append(delivery_tag)
            logger.warning("the broker refuses an acknowledgement (%s)", error)

    def restore_visible(self, *args: Any, **options: Any) -> None:
        """Requeue messages that were not acknowledged in time; kombu calls this now and then."""
        try:
            while self._refused:
                super().ack(self._refused[-1])
                self._refused.pop()
            super().restore_visible(*args, **options)
        except redis.exceptions.ResponseError as error:
            logger.warning("the broker refuses to queue lost messages again (%s)", error)


class LeanChannel(_Channel):  # type: ignore[misc]  # as above
    """A kombu channel that drops malformed messages, with two savings.

    * One client for all its commands. kombu creates one for each, which takes longer than most of
      the commands do; a client holds nothing but its pool, and any thread may use it.
    * Queues that are consumed without acknowledgement (``no_ack``) cost no command for it: kombu
      omits only the first half, noting the message as delivered, and acknowledges it all the same.
    """

    QoS = LeanQoS

    def __init__(self, *args: Any, **options: Any) -> None:
        self._lean_client: Any = None
        self._known_parameters: dict[bool, dict[str, Any]] = {}
        self.no_ack_consumers: set[str] = set()  # read by kombu's Message.ack
        super().__init__(*args, **options)

    def _create_client(self, asynchronous: bool = False) -> Any:  # noqa: FBT001, FBT002  kombu's
        if asynchronous:
            return super()._create_client(asynchronous=True)
        if self._lean_client is None or self._lean_client.connection_pool is not self.pool:
            self._lean_client = super()._create_client()
        return self._lean_client

    def _brpop_read(self, **options: Any) -> Any:
        """Deliver the next message; drop one that cannot be read.

        Celery rejects content types that it does not accept. A malformed message (not JSON, without
        its parts, or with a body of another form) raises out of its event loop and would end the
        worker, and every other that fetches the message next.

        A broker that answers but refuses, because its disk is full for instance, raises out of the
        loop as well. The next attempt follows a moment later.
        """
        newest = next(reversed(self.qos._delivered), None)
        try:
            return super()._brpop_read(**options)
        except redis.exceptions.ResponseError as error:
            logger.warning("the broker refuses to hand out messages (%s)", error)
            time.sleep(REFUSED_SECONDS)  # of the consumer's thread; runs have another one
            raise Empty from error
        except _UNREADABLE:
            logger.exception("a message on the broker could not be read: it is dropped")
            tag = next(reversed(self.qos._delivered), None)
            if tag != newest:  # noted as delivered: unacknowledged, it would be redelivered
                self.qos.ack(tag)
            return True  # the queue was not empty

    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002
        """Return the broker's address and options; the last known ones once the client is gone."""
        if self.connection is not None and self.connection.client is not None:
            parameters: dict[str, Any] = super()._connparams(asynchronous)
            original = parameters["connection_class"]
            parameters["connection_class"] = type(original.__name__, (_Pings, original), {})
            self._known_parameters[asynchronous] = parameters
        elif asynchronous not in self._known_parameters:
            raise redis.exceptions.ConnectionError("the channel's broker connection is gone")
        return dict(self._known_parameters[asynchronous])

    def _receive_one(self, client: Any) -> Any:
        """Deliver a broadcast; the answer to a refused ping is not one."""
        try:
            return super()._receive_one(client)
        except redis.exceptions.ResponseError as error:
            logger.warning("the broker refuses to answer (%s)", error)
            return None

    def basic_consume(
        self,
        queue: str,
        no_ack: bool,  # noqa: FBT001  kombu's
        callback: Callable[[Any], Any],
        consumer_tag: str,
        **options: Any,
    ) -> Any:
        """Consume; tag messages with the consumer, so ``Message.ack`` can skip ``no_ack``."""

        def tagged(message: Any) -> Any:
            message.delivery_info["consumer_tag"] = consumer_tag
            return callback(message)

        if no_ack:
            self.no_ack_consumers.add(consumer_tag)
        return super().basic_consume(queue, no_ack, tagged, consumer_tag, **options)


def install() -> bool:
    """Install the patches, if this kombu is the version they were written for.

    Returns:
        True if they are in place.
    """
    if not metadata.version("kombu").startswith(_AFFECTED):
        return False
    transport.Transport.Channel = LeanChannel
    return True
