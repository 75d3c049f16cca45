"""Django's ORM outside requests: bounded threads whose connections do not grow stale.

Usage::

    run = await orm.run_in_thread(lambda: Run.objects.get(pk=run_id))
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, ParamSpec, TypeVar

from django.db import DEFAULT_DB_ALIAS, Error, close_old_connections, connections

from heartbit_site.base.database_faults import is_away

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 8


class OrmExecutor(ThreadPoolExecutor):
    """Threads for short blocking work that may use the ORM; each keeps at most one connection.

    Attributes:
        idle: Idle threads minus queued work; a negative number is the work without a thread.
    """

    def __init__(self, max_workers: int, *, name: str) -> None:
        self._wrappers: list[Any] = []
        self._lock = threading.Lock()
        self.idle = max_workers
        super().__init__(max_workers, thread_name_prefix=name, initializer=self._remember)

    def _remember(self) -> None:
        # This thread's own object, so that shutdown can reach its connection.
        self._wrappers.append(connections[DEFAULT_DB_ALIAS])

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run ``fn`` in a thread; its connection is checked before and after."""
        future = super().submit(_checked, fn, *args, **kwargs)
        self._count(-1)
        future.add_done_callback(lambda _: self._count(1))
        return future

    def _count(self, change: int) -> None:
        with self._lock:
            self.idle += change

    def submit_read(self, fn: Callable[[], T]) -> Future[T]:
        """Run a ``fn`` that only reads in a thread; see ``read_in_thread``."""
        return super().submit(_again_if_dead, fn)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002  the base class's
        """End the threads and close their connections."""
        super().shutdown(wait=wait, cancel_futures=cancel_futures)
        for wrapper in self._wrappers:
            if wrapper.connection is not None:
                wrapper.connection.close()  # the driver's connection, which any thread may close


def _checked(fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    close_old_connections()
    try:
        return fn(*args, **kwargs)
    finally:
        close_old_connections()


def _again_if_dead(fn: Callable[[], T]) -> T:
    try:
        return fn()
    except Error as error:
        close_old_connections()
        if not is_away(error):
            raise
    return fn()


@functools.cache
def shared() -> OrmExecutor:
    """Return the process's executor for ORM work that the loop waits for."""
    return OrmExecutor(THREADS, name="orm")


async def run_in_thread(fn: Callable[[], T]) -> T:
    """Run ``fn`` in a thread that may use the ORM, in the task's context; return its result."""
    return await asyncio.get_running_loop().run_in_executor(shared(), copy_context().run, fn)


async def read_in_thread(fn: Callable[[], T]) -> T:
    """Run a ``fn`` that only reads in a thread that may use the ORM; return its result.

    Its connection is not checked beforehand, which would cost a round trip: a broken one is
    replaced, and ``fn`` is run again.
    """
    return await asyncio.wrap_future(shared().submit_read(fn))


def close() -> None:
    """End the shared executor, if it was ever used; the next use starts a new one."""
    if shared.cache_info().currsize:
        shared().shutdown()
        shared.cache_clear()
