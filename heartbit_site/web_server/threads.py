"""Pool of request threads, so that a database connection serves many requests.

Django gives each request a new thread for its synchronous code, and a connection belongs to its
thread, so every page would open a new connection to PostgreSQL. Here a thread is reused by later
requests, and its connection lives as long as ``CONN_MAX_AGE`` says::

    application = LentThreads(get_asgi_application())
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from asgiref.sync import ThreadSensitiveContext
from django.db import connections

#: Idle threads to keep, each with its connection; further ones end with their request.
IDLE: Final = 8


class LentThreads:
    """ASGI middleware that runs the synchronous code of requests in reused threads.

    Args:
        application: The ASGI application, for example Django.
        idle: Number of idle threads to keep.
    """

    def __init__(self, application: Any, *, idle: int = IDLE) -> None:
        self._application = application
        self._most = idle
        self._idle: list[ThreadPoolExecutor] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request."""
        # The thread used last: its connection is the least likely to be too old.
        thread = self._idle.pop() if self._idle else ThreadPoolExecutor(1, "request")
        try:
            async with ThreadSensitiveContext(executor=thread):
                await self._application(scope, receive, send)
        finally:
            # Only when the thread is idle: an aborted request's query may still run.
            thread.submit(lambda: None).add_done_callback(lambda _: self._take_back(thread))

    def _take_back(self, thread: ThreadPoolExecutor) -> None:
        if len(self._idle) < self._most:
            self._idle.append(thread)
        else:
            thread.submit(connections.close_all)
            thread.shutdown(wait=False)
