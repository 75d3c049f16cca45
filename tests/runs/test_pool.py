"""A cancellation that comes together with the awaited connection is not forgotten."""

from __future__ import annotations

import asyncio

import pytest
from django.conf import settings

from agents.runs.pool import open_pool


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


def _is_given(task: asyncio.Task[str]) -> bool:
    """Whether what the task's ``wait_for`` waits for is there, and the task does not know yet."""
    inner = [
        other
        for other in asyncio.all_tasks()
        if "Condition.wait" in repr(other.get_coro()) and not other.done()
    ]
    return not inner
