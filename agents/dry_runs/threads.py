"""Threads of dry runs: few at once, each with a database connection of its own.

A computing tool cannot be stopped, so its caller stops waiting instead. The threads are daemons:
they do not keep the process alive, and closing their connections rolls back their transactions.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING

from django.db import connections

from agents.errors import DryRunStoppedError

if TYPE_CHECKING:
    from agents.dry_runs.changes_view import DryRunOut

AT_ONCE = 2
PATIENCE_SECONDS = 15.0

_room = threading.BoundedSemaphore(AT_ONCE)


async def in_time(attempt: Callable[[], DryRunOut]) -> DryRunOut:
    """Return the result of ``attempt``, which makes the dry run and may use the ORM.

    Raises:
        DryRunStoppedError: Too many dry runs are running, or this one does not end in time.
    """
    if not _room.acquire(blocking=False):
        raise DryRunStoppedError(
            f"{AT_ONCE} dry runs are running, which is the most at once: try again in a moment."
        )
    future: Future[DryRunOut] = Future()
    future.set_running_or_notify_cancel()  # now only the thread can complete it
    threading.Thread(target=_work, args=(attempt, future), name="dry-run", daemon=True).start()
    awaited = asyncio.wrap_future(future)
    try:
        await asyncio.wait({awaited}, timeout=PATIENCE_SECONDS)
        if not awaited.done():
            raise DryRunStoppedError(
                f"The tool did not finish within {PATIENCE_SECONDS:g} s: its transaction is "
                "rolled back when it ends."
            )
        return awaited.result()
    finally:
        awaited.cancel()  # a later result is discarded


def _work(attempt: Callable[[], DryRunOut], future: Future[DryRunOut]) -> None:
    try:
        try:
            result = attempt()
        finally:
            connections.close_all()
            _room.release()
    except BaseException as error:  # noqa: BLE001  raised again in the waiting caller
        future.set_exception(error)
    else:
        future.set_result(result)
