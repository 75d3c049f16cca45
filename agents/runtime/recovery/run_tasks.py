"""Map of the loop's tasks to their runs, so that another thread can name the current run.

A task that a run's task starts belongs to the same run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

from heartbit_site.base.log_context import RUN, TRACEPARENT

_runs: WeakKeyDictionary[asyncio.Task[Any], UUID] = WeakKeyDictionary()


def watch(loop: asyncio.AbstractEventLoop) -> None:
    """Record the run of each task that is started from now on."""
    loop.set_task_factory(_create)


def work_for(run_id: UUID, traceparent: str = "") -> None:
    """Assign the current task, and the tasks that it starts from now on, to a run and its trace."""
    RUN.set(run_id)
    TRACEPARENT.set(traceparent)
    task = asyncio.current_task()
    if task is not None:
        _runs[task] = run_id


def running(loop: asyncio.AbstractEventLoop) -> UUID | None:
    """Return the run whose task a loop is executing. Thread-safe."""
    task = asyncio.current_task(loop)
    return None if task is None else _runs.get(task)


def _create(
    loop: asyncio.AbstractEventLoop,
    coro: Coroutine[Any, Any, Any] | Generator[Any, None, Any],
    **how: Any,
) -> asyncio.Task[Any]:
    task = asyncio.Task(coro, loop=loop, **how)
    context = how.get("context")
    run_id = RUN.get() if context is None else context.get(RUN)
    if run_id is not None:
        _runs[task] = run_id
    return task
