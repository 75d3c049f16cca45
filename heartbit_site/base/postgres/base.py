"""Django's connection to PostgreSQL: no round trip for health checks, and prepared statements."""

from __future__ import annotations

import select
import sys
from typing import Any

import psycopg
from django.db.backends.postgresql import base


class PreparingCursor(psycopg.Cursor[Any]):
    """Cursor whose statements are prepared: their connection keeps what was parsed and planned."""

    def execute(self, query: Any, params: Any = None, **options: Any) -> PreparingCursor:
        """Execute a statement; its values are sent beside the text."""
        return super().execute(query, params, **{**options, "prepare": True})


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that is only asked ``SELECT 1`` if the server has sent something unasked.

    A server that stops or ends a session says so, or at least closes the connection: either can be
    read from the socket. So a connection on which nothing has come since its last statement is as
    good as one that has just answered.
    """

    def get_connection_params(self) -> dict[str, Any]:
        """Return the parameters of Django's, with which statements can be prepared."""
        # Django's text holds the values, so that it hardly ever comes again: none is prepared by
        # itself, however often it came.
        return {**super().get_connection_params(), "prepare_threshold": sys.maxsize}

    def preparing_cursor(self) -> Any:
        """Return a cursor for a few constant statements that come again and again."""
        self.close_if_health_check_failed()
        self.ensure_connection()
        with self.wrap_database_errors:
            return self._prepare_cursor(PreparingCursor(self.connection))

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
