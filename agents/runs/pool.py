"""The journal's connections on the loop: one statement is one transaction and one round trip."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

if TYPE_CHECKING:
    from collections.abc import Sequence

Connection = psycopg.AsyncConnection[DictRow]


class Pool(AsyncConnectionPool[Connection]):
    """A pool that swallows no cancellation."""

    async def getconn(self, timeout: float | None = None) -> Connection:
        """Wait for a connection.

        The pool waits with ``asyncio.wait_for``, which on Python 3.11 loses a cancellation that
        comes at the same moment as the connection: the run would continue and could not be stopped.
        """
        connection = await super().getconn(timeout)
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            await self.putconn(connection)
            raise asyncio.CancelledError
        return connection


def open_pool(conninfo: str, *, max_size: int = 10) -> Pool:
    """Create a pool for the process's loop, to be opened there. Statements autocommit."""
    return Pool(
        conninfo,
        min_size=1,
        max_size=max_size,
        open=False,
        kwargs={
            "application_name": "heartbit-journal",
            "autocommit": True,
            "row_factory": dict_row,
            "prepare_threshold": 2,
        },
    )


async def call(pool: Pool, query: str, parameters: Sequence[Any]) -> DictRow | None:
    """Return the first row of a statement; the connection is held only that long."""
    async with pool.connection() as connection:
        cursor = await connection.execute(query, parameters)
        return await cursor.fetchone()
