"""Batches of updates that arrive shortly after each other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agents.live.updates import Update

BATCH = 200
GATHER_SECONDS = 0.02


async def batched(updates: AsyncIterator[Update]) -> AsyncGenerator[list[Update], None]:
    """Yield the updates in batches: those within ``GATHER_SECONDS`` go out together."""
    batch: list[Update] = []
    coming: asyncio.Task[Update] | None = None
    loop = asyncio.get_running_loop()
    due = 0.0
    try:
        while True:
            coming = coming or asyncio.ensure_future(_next(updates))
            timeout = max(0.0, due - loop.time()) if batch else None
            done, _ = await asyncio.wait([coming], timeout=timeout)
            if done:
                task, coming = coming, None
                try:
                    update = task.result()
                except StopAsyncIteration:
                    break
                due = due if batch else loop.time() + GATHER_SECONDS
                batch.append(update)
            if not done or len(batch) >= BATCH:
                yield batch
                batch = []
        if batch:
            yield batch
    finally:
        if coming is not None:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)


async def _next(updates: AsyncIterator[Update]) -> Update:
    return await anext(updates)
