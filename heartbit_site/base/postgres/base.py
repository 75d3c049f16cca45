"""Django's connection to PostgreSQL: no round trip for health checks, and prepared statements."""

from __future__ import annotations

import select
import sys
from typing import Any

import psycopg
from django.conf import settings
from django.db.backends.postgresql import base


class PreparingCursor(psycopg.Cursor[Any]):
    """Cursor whose statements are prepared: the connection caches their parsed form and plan."""

    def execute(self, query: Any, params: Any = None, **options: Any) -> PreparingCursor:
        """Execute a statement; its values are sent separately from the text."""
        return super().execute(query, params, **{**options, "prepare": True})


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that is only checked with ``SELECT 1`` if the server has sent unsolicited data.

    A server that stops or ends a session sends a message, or at least closes the connection: either
    is visible on the socket. So a connection that has received nothing since its last statement is
    as usable as one that has just answered.
    """

    def get_connection_params(self) -> dict[str, Any]:
        """Return Django's connection parameters, changed so that statements can be prepared."""
        # Django's statements contain their values and hardly ever repeat, so none is prepared
        # automatically. Behind a transaction pooler none is at all: the next one may be in another
        # session.
        is_pooled = settings.DATABASE_DIRECT_URL != settings.DATABASE_URL
        threshold = None if is_pooled else sys.maxsize
        return {**super().get_connection_params(), "prepare_threshold": threshold}

    def preparing_cursor(self) -> Any:
        """Return a cursor for a few constant statements that are repeated often."""
        self.close_if_health_check_failed()
        self.ensure_connection()
        with self.wrap_database_errors:
            return self._prepare_cursor(PreparingCursor(self.connection))  # type: ignore[attr-defined]

    def is_usable(self) -> bool:
        """Return True if statements can be sent."""
        if self.errors_occurred or not self._is_quiet():
            return super().is_usable()
        return True

    def _is_quiet(self) -> bool:
        connection = self.connection
        if connection is None or connection.closed:
            return False
        poll = select.poll()
        poll.register(connection.fileno(), select.POLLIN)
        return not poll.poll(0)
