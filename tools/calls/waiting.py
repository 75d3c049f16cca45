"""Waiting for a running call: for its end, its time limit, or the end of its tool."""

from __future__ import annotations

import asyncio
from typing import Any

CANCEL_GRACE_SECONDS = 1.0
_abandoned: set[asyncio.Future[Any]] = set()  # references, so that tasks are not collected


async def wait_for_end(
    running: asyncio.Future[Any], stop: asyncio.Future[str] | None, seconds: float
) -> None:
    """Wait for a call, its time limit or its tool's stop; if cancelled, cancel the call."""
    ends: set[asyncio.Future[Any]] = {running} if stop is None else {running, stop}
    try:
        await asyncio.wait(ends, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        await cancel(running)
        raise


def is_cancelled(ended: asyncio.Future[Any]) -> bool:
    """Return True if a tool cancelled itself, which must not cancel the run."""
    return ended.cancelled() or isinstance(ended.exception(), asyncio.CancelledError)


async def cancel(running: asyncio.Future[Any]) -> None:
    """Cancel a call, and abandon it if it does not end."""
    running.cancel()
    if isinstance(running, asyncio.Task):
        await asyncio.wait({running}, timeout=CANCEL_GRACE_SECONDS)
        if not running.done():
            _abandoned.add(running)
            running.add_done_callback(_abandoned.discard)
