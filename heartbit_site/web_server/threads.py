"""Threads reused by requests, so that a database connection serves one request after another.

Django gives each request a new thread for its synchronous code, and a connection belongs to its
thread: every page would open a connection to PostgreSQL. Here a thread serves the next request, and
its connection lives for ``CONN_MAX_AGE``::

    application = LentThreads(get_asgi_application())
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from asgiref.sync import ThreadSensitiveContext
from django.db import connections

#: Threads that wait for a request, each with its connection; those beyond end with their request.
IDLE: Final = 8


class LentThreads:
    """Run each request's synchronous code in a thread that is kept for later requests.

    Args:
        application: Serves the requests, for example Django.
        idle: How many threads are kept while no request needs them.
    """

    def __init__(self, application: Any, *, idle: int = IDLE) -> None:
        self._application = application
        self._most = idle
        self._idle: list[ThreadPoolExecutor] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request."""
        # The one used last: its connection is the least likely to be too old.
        thread = self._idle.pop() if self._idle else ThreadPoolExecutor(1, "request")
        try:
            async with ThreadSensitiveContext(executor=thread):
                await self._application(scope, receive, send)
        finally:
            # Only when it has nothing left to do: an aborted request's query may still run.
            thread.submit(_nothing).add_done_callback(lambda _: self._take_back(thread))

    def _take_back(self, thread: ThreadPoolExecutor) -> None:
        if len(self._idle) < self._most:
            self._idle.append(thread)
        else:
            thread.submit(connections.close_all)
            thread.shutdown(wait=False)


def _nothing() -> None:
    """Stand for the end of a request's work."""
