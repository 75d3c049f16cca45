"""The journal's connections on the loop: one statement is one transaction and one round trip."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

if TYPE_CHECKING:
    from collections.abc import Sequence

Pool = AsyncConnectionPool[psycopg.AsyncConnection[DictRow]]


def open_pool(conninfo: str, *, max_size: int = 10) -> Pool:
    """A pool for the process's loop; open it there. Statements commit by themselves."""
    return AsyncConnectionPool(
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
    """The first row that a statement returns; the connection is held only that long."""
    async with pool.connection() as connection:
        cursor = await connection.execute(query, parameters)
        return await cursor.fetchone()
