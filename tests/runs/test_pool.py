"""Cancelled work on the journal's connections: none of it is forgotten, and none half done."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal

import pytest
from django.conf import settings

from agents.runs.pool import call, open_pool


@pytest.mark.usefixtures("database")
async def test_a_wait_for_a_connection_that_is_cancelled_as_it_comes_is_cancelled() -> None:
    pool = open_pool(settings.DATABASE_URL, max_size=1)
    await pool.open(wait=True)

    async def work() -> str:
        async with pool.connection():
            return "worked on"

    async with pool.connection():
        waiting = asyncio.create_task(work())
        while not pool.get_stats().get("requests_waiting"):
            await asyncio.sleep(0)
        for _ in range(5):
            await asyncio.sleep(0)
    # Given back, so the connection is the waiter's; it has not run since.
    while not _is_given(waiting):
        await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    async with asyncio.timeout(5), pool.connection():
        pass  # and the connection is not lost
    await pool.close()


@pytest.mark.usefixtures("database")
async def test_a_statement_that_is_cancelled_before_the_server_has_it_writes_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Psycopg cannot resume sending, so it warns of a TypeError and closes the connection."""
    pool = open_pool(settings.DATABASE_URL, max_size=1)
    await pool.open(wait=True)
    lock = secrets.randbits(31)
    row = await call(pool, "SELECT pg_backend_pid() AS pid", ())
    assert row is not None
    os.kill(row["pid"], signal.SIGSTOP)
    try:
        # More than the sockets between the two hold: the rest stays with the client.
        query = "SELECT pg_advisory_lock(%s), length(%s)"
        sending = asyncio.create_task(call(pool, query, (lock, "x" * 32_000_000)))
        done, _ = await asyncio.wait([sending], timeout=0.2)
        assert not done
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
    finally:
        os.kill(row["pid"], signal.SIGCONT)
    assert "query cancellation interrupted (TypeError)" in caplog.text
    query = "SELECT pg_backend_pid() AS pid, pg_try_advisory_lock(%s) AS free"
    fresh = await call(pool, query, (lock,))
    assert fresh is not None
    assert fresh["free"]
    assert fresh["pid"] != row["pid"]
    await pool.close()


def _is_given(task: asyncio.Task[str]) -> bool:
    """Whether what the task's ``wait_for`` waits for is there, and the task does not know yet."""
    inner = [
        other
        for other in asyncio.all_tasks()
        if "Condition.wait" in repr(other.get_coro()) and not other.done()
    ]
    return not inner
