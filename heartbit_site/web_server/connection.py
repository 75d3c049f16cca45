"""Limits on connections: uvicorn's HTTP protocol with timeouts.

Uvicorn limits the time between two requests only while no data arrives: a client that sends half
a request line, or nothing at all on a new connection, keeps it open until the process ends.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, ClassVar, Final

import h11
from django.conf import settings
from uvicorn.protocols.http.h11_impl import H11Protocol

from heartbit_site.web_server.clients import CLIENT_SHARE, client_at, is_proxy

#: Bytes read and dropped after an early answer (413), so that the client receives the answer.
LINGER_BYTES: Final = 16_777_216
COMPLAINT_SECONDS: Final = 60.0


class BoundedProtocol(H11Protocol):
    """A connection that ends when its client stalls for ``HEARTBIT_REQUEST_SECONDS``.

    The limit applies to the header of every request, and to a client that does not read what was
    sent to it. A client that was answered early may send the rest of its body for as long, up to
    ``LINGER_BYTES``. ``bodies.BodyLimits`` limits the time of bodies that are read. A connection
    above ``limit_concurrency``, or above a client's quarter of them, is closed at once. A client is
    an address or an IPv6 network; the proxies in ``HEARTBIT_TRUSTED_PROXIES`` have no such limit.
    """

    _complained_at: ClassVar[float] = float("-inf")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._seconds: float = settings.HEARTBIT_REQUEST_SECONDS
        self._waiting: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None
        self._unread = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timeout of the first request."""
        super().connection_made(transport)
        if reason := self._refusal():
            self._complain(reason)
            transport.abort()
            return
        self._wait_for_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timers."""
        self._cancel_timers()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Process data; abort if too much of a body arrives after an early answer."""
        if self._is_answered() and self.conn.their_state is h11.SEND_BODY:
            self._unread += len(data)
            if self._unread > LINGER_BYTES:
                self.transport.abort()
                return
        super().data_received(data)

    def on_response_complete(self) -> None:
        """Start the timeout of the next request."""
        self._unread = 0
        self._wait_for_request()
        super().on_response_complete()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Hand the connection to the WebSocket protocol, which pings its clients."""
        self._cancel_timers()
        super().handle_websocket_upgrade(event)

    def pause_writing(self) -> None:
        """Start the timeout for a client that does not read."""
        super().pause_writing()
        if self._stalled is None:
            self._stalled = self.loop.call_later(self._seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Cancel the timeout: the client reads again."""
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None
        super().resume_writing()

    def _is_answered(self) -> bool:
        """Return True while no request is being served."""
        return self.cycle is None or self.cycle.response_complete

    def _wait_for_request(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
        self._waiting = self.loop.call_later(self._seconds, self._end_unless_serving)

    def _end_unless_serving(self) -> None:
        # Also ends a closing connection whose client does not read the last answer.
        if self._is_answered():
            self.transport.abort()

    def _cancel_timers(self) -> None:
        for timer in (self._waiting, self._stalled):
            if timer is not None:
                timer.cancel()
        self._waiting = self._stalled = None

    def _refusal(self) -> str:
        """Return why this connection is refused; empty if it is accepted."""
        if self.limit_concurrency is None:
            return ""
        if len(self.connections) > self.limit_concurrency:
            return (
                f"{len(self.connections)} connections are open: further ones are closed at once. "
                "Raise the limit of open files (ulimit -n), of which half may be connections, or "
                "limit clients in a proxy."
            )
        share = max(1, self.limit_concurrency // CLIENT_SHARE)
        # A client has at most all connections: usually there is nothing to count.
        if self.client is None or len(self.connections) <= share or is_proxy(self.client[0]):
            return ""
        mine = client_at(self.client[0])
        others: Any = self.connections  # includes WebSockets
        if (
            sum(one.client is not None and client_at(one.client[0]) == mine for one in others)
            > share
        ):
            return (
                f"{self.client[0]} has {share} connections open: further ones of that client are "
                "closed at once. If it is a proxy, name it in HEARTBIT_TRUSTED_PROXIES."
            )
        return ""

    def _complain(self, reason: str) -> None:
        now = time.monotonic()
        if now - BoundedProtocol._complained_at < COMPLAINT_SECONDS:
            return
        BoundedProtocol._complained_at = now
        self.logger.warning("%s", reason)
