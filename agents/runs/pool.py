"""The journal's connections: one statement is one transaction and one round trip."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool

if TYPE_CHECKING:
    Parameters = Sequence[Any] | Mapping[str, Any]

Connection = psycopg.AsyncConnection[DictRow]


THREAD_CONNECTIONS = 16
IDLE_SECONDS = 60.0  # idle time after which a thread's connection is closed

_OPTIONS = {
    "application_name": "heartbit-journal",
    "autocommit": True,
    "row_factory": dict_row,
    "prepare_threshold": 2,
}


class Pool(AsyncConnectionPool[Connection]):
    """Connections for the process's loop, with others for its threads. Statements autocommit."""

    def __init__(self, conninfo: str, *, max_size: int) -> None:
        """Create a pool, to be opened on the loop."""
        super().__init__(conninfo, min_size=1, max_size=max_size, open=False, kwargs=_OPTIONS)
        self._threads: ConnectionPool[psycopg.Connection[DictRow]] = ConnectionPool(
            conninfo,
            min_size=0,  # connects when a thread first needs a connection
            max_size=THREAD_CONNECTIONS,
            max_idle=IDLE_SECONDS,
            num_workers=1,
            open=False,
            kwargs=_OPTIONS,
        )

    async def open(self, wait: bool = False, timeout: float = 30.0) -> None:  # noqa: FBT001, FBT002  the base class's
        """Connect."""
        await super().open(wait, timeout)
        self._threads.open()

    async def close(self, timeout: float = 5.0) -> None:
        """Disconnect."""
        await super().close(timeout)
        await asyncio.to_thread(self._threads.close, timeout)

    def call_here(self, query: str, parameters: Parameters) -> DictRow | None:
        """Act like ``call``, from a thread."""
        with self._threads.connection() as connection:
            return connection.execute(query, parameters).fetchone()

    async def getconn(self, timeout: float | None = None) -> Connection:
        """Wait for a connection, without swallowing a cancellation.

        The pool waits with ``asyncio.wait_for``, which on Python 3.11 loses a cancellation that
        arrives together with the connection: the run would continue and could not be stopped.
        """
        connection = await super().getconn(timeout)
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            await self.putconn(connection)
            raise asyncio.CancelledError
        return connection


def open_pool(conninfo: str, *, max_size: int = 10) -> Pool:
    """Create a pool for the process's loop, to be opened there."""
    return Pool(conninfo, max_size=max_size)


async def call(pool: Pool, query: str, parameters: Parameters) -> DictRow | None:
    """Return the first row of a statement; hold the connection only for the statement."""
    async with pool.connection() as connection:
        cursor = await connection.execute(query, parameters)
        return await cursor.fetchone()
