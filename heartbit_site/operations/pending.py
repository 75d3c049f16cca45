"""Responses that wait for the end of a run."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import TypeVar
from uuid import UUID

from heartbit_site.base import orm

T = TypeVar("T")


async def read_at_end(run_id: UUID, seconds: float, read: Callable[[], T]) -> T:
    """Wait until a run has ended or a timeout; return what ``read`` then returns.

    Raises:
        RunNotFoundError: The run was deleted while waiting.
    """
    # Slow to import, for the only operations that wait.
    from agents.live import valkey_ends  # noqa: PLC0415

    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await valkey_ends.shared().result(run_id)
    return await orm.read_in_thread(read)
