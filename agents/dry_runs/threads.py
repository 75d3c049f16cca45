"""Where dry runs work: few at once, each in a thread and with a connection of its own.

A tool cannot be stopped while it computes; whoever asked does not wait for it. The threads are no
reason for a process to stay: with it their connections end, which undoes what they did.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING

from django.db import connections

from agents.errors import DryRunStoppedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents.dry_runs.changes import DryRun

AT_ONCE = 2
PATIENCE_SECONDS = 15.0

_room = threading.BoundedSemaphore(AT_ONCE)


async def in_time(attempt: Callable[[], DryRun]) -> DryRun:
    """The result of a dry run.

    Args:
        attempt: Makes it; may use the ORM.

    Raises:
        DryRunStoppedError: Others are under way, or it does not end.
    """
    if not _room.acquire(blocking=False):
        raise DryRunStoppedError(
            f"{AT_ONCE} dry runs are under way, and no more run at once: try again in a moment."
        )
    future: Future[DryRun] = Future()
    future.set_running_or_notify_cancel()  # from here on only the thread says how it ended
    threading.Thread(target=_work, args=(attempt, future), name="dry-run", daemon=True).start()
    awaited = asyncio.wrap_future(future)
    try:
        await asyncio.wait({awaited}, timeout=PATIENCE_SECONDS)
        if not awaited.done():
            raise DryRunStoppedError(
                f"The tool did not finish within {PATIENCE_SECONDS:g} s, and nobody waits for it "
                "any more: its transaction is undone when it ends."
            )
        return awaited.result()
    finally:
        awaited.cancel()  # nobody asks any more for what comes later


def _work(attempt: Callable[[], DryRun], future: Future[DryRun]) -> None:
    try:
        try:
            result = attempt()
        finally:
            connections.close_all()
            _room.release()
    except BaseException as error:  # noqa: BLE001  whoever waits gets it
        future.set_exception(error)
    else:
        future.set_result(result)
