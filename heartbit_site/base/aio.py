"""The one bridge between threads and the process's asyncio loop.

Celery tasks, Django views and commands are synchronous; agents, models and the journal are
coroutines. A process has ONE loop, in a daemon thread, for the lifetime of the process, so that
every run shares the same HTTP clients and connection pools:

    result = aio.run(execute(run_id))      # in a thread: wait for the coroutine
    aio.submit(flush_deltas())             # anywhere: start it in the background

    async def execute(run_id):
        try:
            ...
        except asyncio.CancelledError:     # why? SoftTimeLimitExceeded, Terminated, ShuttingDown
            if isinstance(aio.cancel_reason(), aio.ShuttingDown):
                await requeue(run_id)
            raise

Code that runs on the loop awaits; it never calls `run`, and `run` refuses. No API has a synchronous
and an asynchronous twin: synchronous callers wrap the coroutine here.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import contextvars
import dataclasses
import logging
import os
import threading
from collections.abc import Coroutine, Iterator
from concurrent import futures
from typing import Any, TypeVar

T = TypeVar("T")

logger = logging.getLogger(__name__)

#: Seconds that a coroutine has to clean up after its job was aborted. After that, the waiting
#: thread continues without it, so that code which swallows cancellation cannot hold a slot for
#: ever.
GRACE = 5.0

#: Seconds after which a cancelled task that is still running is cancelled again.
CANCEL_AGAIN = 0.5


class Aborted(BaseException):
    """The pool aborted the job; its result is discarded.

    A BaseException, so that `except Exception` in task code cannot turn it into a failure.
    """


class Terminated(Aborted):
    """The job was revoked, or its hard time limit passed."""


class ShuttingDown(Aborted):
    """The process is shutting down; another process continues the work."""


class Job:
    """One unit of work of a pool, and the coroutines that its thread waits for.

    The pool binds a job to the thread that performs it; `run` finds it there. Everything but
    `bind` and `cancel` happens on the loop, in the order in which it was requested, which is why
    there is no lock: a cancel that arrives before `run` makes that `run` fail at once.
    """

    __slots__ = ("_final", "_pending", "_waits", "reason")

    def __init__(self) -> None:
        #: Why the job was cancelled; the coroutine reads it through `cancel_reason`.
        self.reason: BaseException | None = None
        self._final = False
        self._pending = False
        self._waits: dict[asyncio.Task[Any], futures.Future[Any]] = {}

    @contextlib.contextmanager
    def bind(self) -> Iterator[None]:
        """Make this the current job of the calling thread."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def cancel(self, reason: BaseException, *, final: bool = False) -> None:
        """Cancel the coroutines that the job waits for; `run` raises `reason`. Thread-safe.

        Args:
            reason: Raised in the waiting thread and readable in the coroutine.
            final: The job is aborted: it cannot start another coroutine, has `GRACE` seconds left,
                and its own exceptions are discarded. Without it (a soft limit), the reason is
                delivered once and the job may still clean up with `run`. A final reason overrides
                one that is not; apart from that the first one wins.
        """
        loop().call_soon_threadsafe(self._cancel, reason, final)

    def _cancel(self, reason: BaseException, final: bool) -> None:  # noqa: FBT001 - a callback
        if self._final or (self.reason is not None and not final):
            return
        self.reason, self._final = reason, final
        reached = [task.cancel() for task in self._waits]
        # Only a final reason outlives its delivery.
        self._pending = final or not any(reached)
        if final and self._waits:
            asyncio.get_running_loop().call_later(GRACE, self._abandon)

    def _start(self, coro: Coroutine[Any, Any, T], future: futures.Future[T]) -> None:
        if self._pending and self.reason is not None:
            self._pending = self._final
            coro.close()
            future.set_exception(self.reason)
            return
        task = asyncio.get_running_loop().create_task(coro)
        self._waits[task] = future
        task.add_done_callback(self._settle)

    def _settle(self, task: asyncio.Task[Any]) -> None:
        future = self._waits.pop(task)
        error = None if task.cancelled() else task.exception()
        if future.done():  # abandoned: the thread has left
            logger.warning("Abandoned coroutine of a job ended: %r", error or task)
        elif task.cancelled():
            future.set_exception(self.reason or futures.CancelledError())
        elif error is None:
            future.set_result(task.result())
        elif self._final and self.reason is not None:
            # A failed clean-up must not be reported as the task's failure: Celery would acknowledge
            # a message that is about to be requeued.
            logger.error("Coroutine failed while being cancelled", exc_info=error)
            future.set_exception(self.reason)
        else:
            future.set_exception(error)

    def _abandon(self) -> None:
        for task, future in self._waits.items():
            if self.reason is not None and not future.done():
                logger.error("Coroutine ignored its cancellation (%r): %r", self.reason, task)
                future.set_exception(self.reason)

    def _interrupt(self) -> None:
        for task in self._waits:
            task.cancel()


@dataclasses.dataclass(frozen=True, slots=True)
class _Served:
    loop: asyncio.AbstractEventLoop
    thread: threading.Thread


# A context variable and not a thread local: the loop copies the caller's context into the task,
# so the coroutine finds the same job as the thread that waits for it.
_current: contextvars.ContextVar[Job | None] = contextvars.ContextVar("job", default=None)
_lock = threading.Lock()
_served: _Served | None = None
_inherited: list[_Served] = []
_background: set[futures.Future[Any]] = set()


def loop() -> asyncio.AbstractEventLoop:
    """Return the loop of this process; the first call starts it."""
    global _served
    served = _served
    if served is None:
        with _lock:
            if _served is None:
                bridge = asyncio.new_event_loop()
                thread = threading.Thread(
                    target=_run_forever, args=(bridge,), name="heartbit-loop", daemon=True
                )
                _served = _Served(bridge, thread)
                thread.start()
            served = _served
    return served.loop


def cancel_reason() -> BaseException | None:
    """Return why the current job is being cancelled; None if it is not, or if there is no job."""
    job = _current.get()
    return None if job is None else job.reason


def run(coro: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop and wait for it in the calling thread.

    Args:
        coro: Inherits the thread's context variables.

    Returns:
        The coroutine's result.

    Raises:
        RuntimeError: The calling thread runs an event loop itself, which this would block.
        BaseException: The coroutine's exception, or the reason if its job was cancelled.
    """
    if is_loop_running():
        coro.close()
        raise RuntimeError("aio.run() blocks its thread: await the coroutine instead")
    job = _current.get() or Job()
    future = start(coro, job)
    try:
        return future.result()
    except BaseException:
        if not future.done():  # the wait was interrupted (Ctrl-C), not the coroutine
            loop().call_soon_threadsafe(job._interrupt)
            futures.wait([future], GRACE)
        raise
    finally:
        del future  # breaks a reference cycle: its exception's traceback holds this frame


def start(coro: Coroutine[Any, Any, T], job: Job) -> futures.Future[T]:
    """Start a coroutine of a job on the loop, from any thread.

    Args:
        coro: Inherits the caller's context variables.
        job: The coroutine's job, which may cancel it.

    Returns:
        A future with what `run` returns or raises; its callbacks are called on the loop.
    """
    future: futures.Future[T] = futures.Future()
    with job.bind():
        loop().call_soon_threadsafe(job._start, coro, future)
    return future


def submit(coro: Coroutine[Any, Any, T]) -> futures.Future[T]:
    """Start a background coroutine on the loop, from any thread or from the loop itself.

    The coroutine belongs to no job: cancelling the job that started it does not cancel it. A
    failure is logged, because callers usually ignore the future.

    Args:
        coro: Inherits the caller's context variables, except the current job.

    Returns:
        A future to wait for in a thread; cancelling the future cancels the coroutine.
    """
    context = contextvars.copy_context()
    context.run(_current.set, None)
    future = context.run(asyncio.run_coroutine_threadsafe, coro, loop())
    _background.add(future)  # asyncio itself keeps only weak references to tasks
    future.add_done_callback(_report)
    return future


async def cancel_and_wait(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks until they have ended.

    Once is not enough before Python 3.12: its ``wait_for``, which drivers use as well, loses a
    cancellation that meets the result (python/cpython#86296).
    """
    pending = {task for task in tasks if not task.done()}
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=CANCEL_AGAIN)


async def gather_all(*coros: Coroutine[Any, Any, T]) -> list[T]:
    """Run coroutines concurrently; return their results in order. All have ended when this returns.

    Replaces ``asyncio.TaskGroup`` for callers that read ``Task.cancelling`` to see if they were
    cancelled: in Python 3.11 a child's error leaves a cancellation of the group's own on the
    waiting task.

    Raises:
        BaseExceptionGroup: Some failed; the others were cancelled.
        asyncio.CancelledError: The waiting task was cancelled, and so were the coroutines, whatever
        other errors occurred.
    """
    tasks = [asyncio.create_task(coro) for coro in coros]
    stopped: asyncio.CancelledError | None = None
    over = False
    while pending := [task for task in tasks if not task.done()]:
        try:
            await asyncio.wait(pending, return_when=asyncio.FIRST_EXCEPTION)
        except asyncio.CancelledError as cancelled:
            stopped = cancelled
        if not over and (stopped or _errors(tasks)):
            over = True
            for task in tasks:
                task.cancel()
    errors = _errors(tasks)
    if stopped is not None:
        raise stopped
    if errors:
        raise BaseExceptionGroup("some of them failed", errors)
    return [task.result() for task in tasks]


def _errors(tasks: list[asyncio.Task[T]]) -> list[BaseException]:
    ended = [task for task in tasks if task.done() and not task.cancelled()]
    return [error for task in ended if (error := task.exception()) is not None]


def close(timeout: float = 2.0) -> None:
    """Cancel all running coroutines, stop the loop and close it; registered to run at exit.

    Args:
        timeout: Seconds for the coroutines to end and, again, for the thread.
    """
    global _served
    with _lock:
        served, _served = _served, None
    if served is None:
        return
    ended = asyncio.run_coroutine_threadsafe(_cancel_all(), served.loop)
    futures.wait([ended], timeout)
    served.loop.call_soon_threadsafe(served.loop.stop)
    served.thread.join(timeout)
    if served.thread.is_alive():
        logger.warning("The event loop did not stop within %s s", timeout)
    else:
        served.loop.close()


def _run_forever(bridge: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(bridge)
    stopped = False
    while not stopped:
        try:
            bridge.run_forever()
            stopped = True
        except (SystemExit, KeyboardInterrupt):
            # asyncio lets these two exceptions out of run_forever. A tool that calls sys.exit()
            # must not stop every run of the process; the waiting thread gets the exception as well.
            logger.exception("A coroutine tried to exit the process; the loop continues")


def is_loop_running() -> bool:
    """Return True if an event loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _report(future: futures.Future[Any]) -> None:
    _background.discard(future)
    if not future.cancelled() and (error := future.exception()) is not None:
        logger.error("Background coroutine failed", exc_info=error)


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()


def _forget_parent() -> None:
    """Reset the module in a forked child: the loop's thread exists only in the parent."""
    global _lock, _served
    if _served is not None:
        # Kept, never closed: its selector is shared with the parent, and closing it here would
        # unregister the parent's wake-up pipe.
        _inherited.append(_served)
    _served = None
    _lock = threading.Lock()
    _background.clear()
    _current.set(None)


os.register_at_fork(after_in_child=_forget_parent)
atexit.register(close)
