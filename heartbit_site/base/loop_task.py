"""Celery tasks whose body is a coroutine: waiting takes no thread.

    @shared_task(name="agents.execute_run", bind=True)
    @on_loop
    async def execute_run(task_id: str, run_id: str) -> str:
        ...

`heartbit_site.celery_pool.LoopThreadPool` runs the body on the process's loop, and lets Celery
trace the task in a thread once the body has ended: tracing may block, for instance to count a
chord's part. Any other pool waits for the coroutine in its own thread.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent import futures
from typing import Any, Concatenate, ParamSpec, TypeVar

from heartbit_site.base import aio

P = ParamSpec("P")
T = TypeVar("T")

_outcome: contextvars.ContextVar[futures.Future[Any] | None] = contextvars.ContextVar(
    "outcome", default=None
)


def on_loop(
    body: Callable[Concatenate[str, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Any, P], T]:
    """Return a bound task's function; the coroutine function takes the task's id first."""

    @functools.wraps(body)
    def run(task: Any, *args: P.args, **kwargs: P.kwargs) -> T:
        outcome = _outcome.get()
        if outcome is None:
            return aio.run(body(task.request.id, *args, **kwargs))
        result: T = outcome.result()
        return result

    marked: Any = run
    marked.body = body
    found: Callable[Concatenate[Any, P], T] = marked
    return found


def is_on_loop(task: Any) -> bool:
    """Return True if the task's body is a coroutine."""
    return hasattr(task.run, "body")


async def perform(task: Any, task_id: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Run the body of such a task."""
    return await task.run.body(task_id, *args, **kwargs)


@contextlib.contextmanager
def ended(outcome: futures.Future[Any]) -> Iterator[None]:
    """Set the outcome of the ended body for the task that this thread traces."""
    token = _outcome.set(outcome)
    try:
        yield
    finally:
        _outcome.reset(token)
