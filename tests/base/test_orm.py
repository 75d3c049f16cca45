"""Short database work away from requests."""

from __future__ import annotations

import asyncio

import pytest
from django.db import DatabaseError, connection

from heartbit_site.base import orm

TERMINATED = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid = ANY (%s)"


def backend() -> int:
    """The process at the database that serves this thread."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def terminate(backends: set[int]) -> None:
    """End these, over a connection that is none of the executor's."""
    own = connection.copy()
    try:
        with own.cursor() as cursor:
            cursor.execute(TERMINATED, (list(backends),))
    finally:
        own.close()


@pytest.mark.usefixtures("database")
async def test_a_read_meets_a_dead_connection_and_comes_back_with_a_new_one() -> None:
    before = {await orm.read_in_thread(backend) for _ in range(4)}
    await asyncio.to_thread(terminate, before)
    after = {await orm.read_in_thread(backend) for _ in range(4)}
    assert not before & after


@pytest.mark.usefixtures("database")
async def test_a_read_that_is_wrong_is_no_dead_connection() -> None:
    orm.close()  # some of its threads may have a connection that another test ended
    tries = []

    def wrong() -> None:
        tries.append(1)
        with connection.cursor() as cursor:
            cursor.execute("SELECT nothing")

    with pytest.raises(DatabaseError):
        await orm.read_in_thread(wrong)
    assert len(tries) == 1
