"""Connections to chat apps (Slack's Socket Mode), for installations that no request reaches.

Each worker of the queue ``system`` has one supervisor thread. The connection of an app is leased,
so one process of the fleet holds it, and another takes it on when the lease runs out. What arrives
twice, because a process crashed before its acknowledgement, decides once.
"""

from __future__ import annotations

import logging
import threading
import time
from datetime import datetime
from typing import Final

from django.conf import settings
from django.db import close_old_connections, connection
from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection

from agents.actions.chat_apps import note_error, with_adapter
from agents.actions.decide_in_chat import receive_event
from agents.chat_apps.adapter import Envelope
from agents.chat_apps.services import adapter_of
from agents.choices import ChatKind
from agents.models import ChatApp
from heartbit_site.base import aio
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.http.websocket import open_websocket
from heartbit_site.base.query import fetch_one

logger = logging.getLogger(__name__)

LOOK_SECONDS: Final = 3.0
LEASE_SECONDS: Final = 30.0
_RENEW_SECONDS: Final = 5.0
_WAKE_SECONDS: Final = 1.0
_LONGEST_REST: Final = 60.0
_MOST: Final = 50  # connections of a process
_TAKE: Final = """
UPDATE agents_chatapp SET connected_until = clock_timestamp() + make_interval(secs => %s)
WHERE id = (SELECT id FROM agents_chatapp
            WHERE enabled AND app_token <> ''
              AND (connected_until IS NULL OR connected_until < clock_timestamp())
            ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING id, connected_until
"""
# A new token or URL ends the lease, so that the next connection uses it.
_KEEP: Final = """
UPDATE agents_chatapp SET connected_until = clock_timestamp() + make_interval(secs => %s)
WHERE id = %s AND connected_until = %s AND enabled AND app_token = %s AND api_url = %s
RETURNING connected_until
"""
_RELEASE: Final = """
UPDATE agents_chatapp SET connected_until = NULL WHERE id = %s AND connected_until = %s
RETURNING id
"""


class ChatConnections(threading.Thread):
    """Supervisor thread: leases apps, and has a thread for the connection of each."""

    def __init__(self) -> None:
        super().__init__(name="chat", daemon=True)
        self._over = threading.Event()
        self._threads: list[ChatConnection] = []

    def stop(self) -> None:
        """Close the connections, and release the leases."""
        self._over.set()
        if self.is_alive():
            self.join(timeout=10)

    def run(self) -> None:
        """Take apps that no process holds, until stopped."""
        while not self._over.wait(LOOK_SECONDS):
            try:
                self._threads = [one for one in self._threads if one.is_alive()]
                while len(self._threads) < _MOST and (found := fetch_one(_TAKE, [LEASE_SECONDS])):
                    app_id, until = found
                    self._threads.append(ChatConnection(app_id, until, self._over))
                    self._threads[-1].start()
            except Exception:  # the thread must survive any failure
                logger.exception("chat apps were not connected; trying again")
                connection.close()
        for thread in self._threads:
            thread.join(timeout=5)
        connection.close()


class ChatConnection(threading.Thread):
    """Thread that keeps one app connected while its lease lasts."""

    def __init__(self, app_id: int, leased_until: datetime, over: threading.Event) -> None:
        super().__init__(name=f"chat-{app_id}", daemon=True)
        self._app = ChatApp(pk=app_id)
        self._until: datetime | None = leased_until
        self._over = over
        self._renew_at = 0.0
        self._failures = 0

    def run(self) -> None:
        """Connect, and again after each end, until the lease is lost or the process stops."""
        try:
            self._app = ChatApp.objects.select_related("workspace").get(pk=self._app.pk)
            while self._holds():
                self._connect()
        except Exception:  # the supervisor leases the app again
            logger.exception("the connection of chat app %s failed", self._app.pk)
        finally:
            self._release()

    def _connect(self) -> None:
        """Serve one connection, or store why there is none, and rest."""
        try:
            url = aio.run(with_adapter(self._app, lambda adapter: adapter.open_connection()))
            allow = parse_allow(settings.HEARTBIT_HTTP_ALLOWLIST)
            with open_websocket(url, allow=allow) as opened:
                self._serve(opened)
        except (HeartbitError, OSError, WebSocketException, ValueError) as error:
            said = str(error) if isinstance(error, HeartbitError) else type(error).__name__
            service = ChatKind(self._app.kind).label
            note_error(self._app, f"The connection to {service} failed: {said}")
            self._failures += 1
            self._rest(min(2.0**self._failures, _LONGEST_REST))

    def _serve(self, opened: ClientConnection) -> None:
        """Act on envelopes and acknowledge each, until the service ends the connection."""
        adapter = adapter_of(self._app)
        while self._holds():
            try:
                frame = adapter.read_frame(opened.recv(timeout=_WAKE_SECONDS))
            except TimeoutError:
                continue
            match frame:
                case "hello":
                    self._failures = 0
                    note_error(self._app, "")
                case "disconnect":
                    return
                case Envelope(event=event):
                    answer = receive_event(self._app, event)
                    opened.send(adapter.acknowledge(frame, answer))

    def _holds(self) -> bool:
        """Return True while the lease lasts, which this renews now and then."""
        if self._over.is_set() or self._until is None:
            return False
        if time.monotonic() >= self._renew_at:
            close_old_connections()
            app = self._app
            given = [LEASE_SECONDS, app.pk, self._until, app.app_token, app.api_url]
            row = fetch_one(_KEEP, given)
            self._until = row[0] if row is not None else None
            self._renew_at = time.monotonic() + _RENEW_SECONDS
        return self._until is not None

    def _rest(self, seconds: float) -> None:
        ends = time.monotonic() + seconds
        while time.monotonic() < ends and self._holds():
            self._over.wait(_WAKE_SECONDS)

    def _release(self) -> None:
        """Give the lease up, so that another process connects at once."""
        try:
            if self._until is not None:
                fetch_one(_RELEASE, [self._app.pk, self._until])
        except Exception:
            logger.exception("the lease of chat app %s runs out by itself", self._app.pk)
        finally:
            connection.close()
