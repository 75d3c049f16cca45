"""Django's connection to PostgreSQL, whose health check costs no round trip."""

from __future__ import annotations

import select

from django.db.backends.postgresql import base


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that is only asked ``SELECT 1`` if the server has sent something unasked.

    A server that stops or ends a session says so, or at least closes the connection: either can be
    read from the socket. So a connection on which nothing has come since its last statement is as
    good as one that has just answered.
    """

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
