"""Celery's thread pool with one asyncio loop per process, and time limits that threads lack.

    CELERY_CUSTOM_WORKER_POOL=heartbit_site.celery_pool:LoopThreadPool
    celery -A heartbit_site worker -P custom -c 200

A task is a coroutine on the loop (`heartbit_site.base.loop_task`), or an ordinary function in a
thread, which may wait for a coroutine (`aio.run`). A thread cannot be interrupted but a coroutine
can, so soft and hard time limits, revoke(terminate) and cold shutdown cancel the coroutine and work
as in a prefork worker. A task that spends its time in synchronous code is only reached when it next
calls `aio.run` (docs/decisions/0002-celery-version-and-pool.md).

A coroutine waits without a thread, so the pool does not count them: the consumer of a worker with
`worker_disable_prefetch` takes no more messages than it has slots.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import itertools
import logging
import os
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent import futures
from typing import Any

from billiard.einfo import ExceptionInfo
from celery.app.trace import fast_trace_task, trace_task_ret
from celery.concurrency import thread
from celery.exceptions import SoftTimeLimitExceeded
from celery.utils import log as celery_log
from celery.worker import state
from kombu.asynchronous import get_event_loop

from heartbit_site.base import aio, loop_task

logger = logging.getLogger(__name__)

#: Seconds between a cold shutdown that left threads behind and the end of the process. Long
#: enough for the consumer to requeue its messages.
EXIT_AFTER = 10.0

#: Threads that settle ended coroutines. Celery's tracer may wait for the result backend there.
SETTLERS = 4


@dataclasses.dataclass(slots=True)
class _Call:
    """One task on its way through the pool, with its limits and Celery's callbacks."""

    number: int
    target: Callable[[], Any]
    soft_limit: float | None
    hard_limit: float | None
    on_limit: Callable[..., None] | None
    on_accepted: Callable[[int, float], None] | None
    on_returned: Callable[[Any], None] | None
    on_escaped: Callable[[ExceptionInfo], None] | None
    job: aio.Job = dataclasses.field(default_factory=aio.Job)
    returned: bool = False
    passing: list[futures.Future[None]] = dataclasses.field(default_factory=list)

    def perform(self) -> None:
        """Do an ordinary task in its thread."""
        self._accept()
        try:
            with self.job.bind():
                result = self.target()
        finally:
            self._end_limits()
        self._return(result)

    def start(self, body: Coroutine[Any, Any, Any]) -> futures.Future[Any]:
        """Start a coroutine; `settle` its outcome in a thread."""
        self._accept()
        return aio.start(body, self.job)

    def settle(self, outcome: futures.Future[Any]) -> None:
        """Let Celery trace a coroutine that has ended."""
        self._end_limits()
        with loop_task.ended(outcome):
            result = self.target()
        self._return(result)

    def _accept(self) -> None:
        if self.on_accepted is not None:
            self.on_accepted(self.number, time.monotonic())
        limits = ((self.soft_limit, self._on_soft), (self.hard_limit, self._on_hard))
        self.passing = [aio.submit(_after(limit, action)) for limit, action in limits if limit]

    def _end_limits(self) -> None:
        for one in self.passing:
            one.cancel()

    def _return(self, result: Any) -> None:
        self.returned = True
        if self.on_returned is not None:
            self.on_returned(result)

    def report(self, error: BaseException) -> None:
        """Report a call that raised; the tracer returns a task's own exceptions."""
        if isinstance(error, aio.Aborted):
            # Celery has acknowledged the message already, or requeues it.
            logger.info("Job %s was given up: %r", self.number, error)
        elif self.returned or self.on_escaped is None:
            logger.error("Job %s ended but could not be settled", self.number, exc_info=error)
        else:
            # SystemExit, or an undecodable body. Stock threads drop it, and the message stays
            # unacknowledged for ever.
            self.on_escaped(ExceptionInfo((type(error), error, error.__traceback__)))

    def _on_soft(self) -> None:
        if self.on_limit is not None:
            self.on_limit(soft=True, timeout=self.soft_limit)
        self.job.cancel(SoftTimeLimitExceeded(self.soft_limit))

    def _on_hard(self) -> None:
        self.job.cancel(aio.Terminated(f"hard time limit ({self.hard_limit}s)"), final=True)
        if self.on_limit is not None:
            # The callback stores the failure in the result backend: not on the loop, and not in the
            # job's own thread, which may be the very thing that does not return.
            threading.Thread(
                target=self.on_limit,
                kwargs={"soft": False, "timeout": self.hard_limit},
                name="hard-time-limit",
                daemon=True,
            ).start()


class _Handle(thread.ApplyResult):  # type: ignore[name-defined, misc]  # the stubs lack it
    """Celery's weak reference to a job of the pool."""

    def __init__(self, future: futures.Future[None], terminate: Callable[[], None]) -> None:
        super().__init__(future)
        self._terminate = terminate

    def terminate(self, signal: int | None = None) -> None:
        self._terminate()


class LoopThreadPool(thread.TaskPool):
    """A pool of one loop that works, with threads for what cannot be a coroutine.

    `terminate_job` gets the job's number as its pid: the pool reports it on acceptance.
    """

    executor: futures.ThreadPoolExecutor

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._settlers = futures.ThreadPoolExecutor(SETTLERS, "settle")
        self._numbers = itertools.count(1)
        self._jobs: dict[int, aio.Job] = {}
        self._futures: set[futures.Future[None]] = set()
        self._leaving = False

    def on_apply(  # type: ignore[override]  # the stubs of the base class return None
        self,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        callback: Callable[[Any], None] | None = None,
        accept_callback: Callable[[int, float], None] | None = None,
        *,
        timeout: float | None = None,
        soft_timeout: float | None = None,
        timeout_callback: Callable[..., None] | None = None,
        error_callback: Callable[[ExceptionInfo], None] | None = None,
        **_: object,
    ) -> _Handle:
        """Queue one task; see `celery.concurrency.base.BasePool.on_apply`."""
        call = _Call(
            number=next(self._numbers),
            target=functools.partial(target, *args or (), **kwargs or {}),
            soft_limit=soft_timeout,
            hard_limit=timeout,
            on_limit=timeout_callback,
            on_accepted=accept_callback,
            on_returned=callback,
            on_escaped=error_callback,
        )
        # Registered before it runs: a task revoked while queued is terminated on acceptance.
        self._jobs[call.number] = call.job
        body = self._body(target, args or ())
        if body is None:
            future = self.executor.submit(self._perform, call)
        else:
            future = self._start(call, body)
        self._futures.add(future)
        future.add_done_callback(functools.partial(self._on_done, call))
        return _Handle(future, functools.partial(self.terminate_job, call.number))

    def _body(
        self, target: Callable[..., Any], args: Sequence[Any]
    ) -> Coroutine[Any, Any, Any] | None:
        """Return the coroutine of a task that has one."""
        if target not in (fast_trace_task, trace_task_ret):
            return None
        name, task_id, request, *_ = args
        task = self.app.tasks[name]
        if not loop_task.is_on_loop(task):
            return None
        return loop_task.perform(task, task_id, request["args"], request["kwargs"])

    def _perform(self, call: _Call) -> None:
        if not self._leaving:  # else it is not accepted, so its message is requeued
            call.perform()

    def _start(self, call: _Call, body: Coroutine[Any, Any, Any]) -> futures.Future[None]:
        settled: futures.Future[None] = futures.Future()
        if self._leaving:  # as above
            body.close()
            settled.set_result(None)
        else:
            outcome = call.start(body)
            outcome.add_done_callback(
                lambda outcome: self._settlers.submit(_settle, call, outcome, settled)
            )
        return settled

    def _on_done(self, call: _Call, future: futures.Future[None]) -> None:
        was_full = len(self._jobs) >= self.limit
        del self._jobs[call.number]
        self._futures.discard(future)
        if future.cancelled():
            return
        if (error := future.exception()) is not None:
            call.report(error)
        hub = get_event_loop()
        if was_full and hub is not None:
            # With worker_disable_prefetch the consumer stops polling while all slots are taken;
            # nothing else notifies it that one has become free. Any callback makes the hub iterate.
            hub.call_soon(lambda: None)

    def terminate_job(self, pid: int, signal: int | None = None) -> None:
        """Cancel a running job: revoke(terminate=True), or a cold shutdown."""
        job = self._jobs.get(pid)
        if job is None:
            return
        # Celery cancels the active requests from within the signal handler, before it records
        # anywhere else that a shutdown has begun.
        self._leaving = self._leaving or _in_signal_handler() or _terminating()
        reason = aio.ShuttingDown("cold shutdown") if self._leaving else aio.Terminated("revoked")
        job.cancel(reason, final=True)

    def on_stop(self) -> None:
        """Warm shutdown: wait for the running jobs, and requeue those not started."""
        self._leaving = True
        if _in_signal_handler():
            # A cold shutdown stops the pool from the signal handler. The code it interrupted may
            # hold the executor's locks, so nothing here may take them; on_terminate follows.
            return
        self.executor.shutdown(wait=False, cancel_futures=True)
        while futures.wait(self._futures.copy(), timeout=0.5).not_done:
            if _terminating():  # a warm shutdown that became a cold one
                self.on_terminate()
                return

    def on_terminate(self) -> None:
        """Cold shutdown: cancel the running jobs, wait a bounded time, requeue their messages."""
        self._leaving = True
        self.executor.shutdown(wait=False, cancel_futures=True)
        for job in self._jobs.copy().values():
            job.cancel(aio.ShuttingDown("cold shutdown"), final=True)
        left = futures.wait(self._futures.copy(), aio.GRACE + 1).not_done
        if left:
            logger.error("%s jobs are stuck in synchronous code; exiting without them", len(left))
            # The interpreter would join their threads without a time limit.
            deadline = threading.Timer(EXIT_AFTER, os._exit, (os.EX_SOFTWARE,))
            deadline.daemon = True
            deadline.start()

    @property
    def info(self) -> dict[str, Any]:
        """The pool's part of `celery inspect stats`."""
        return {**super().info, "processes": [os.getpid()], "jobs": len(self._jobs)}


def _in_signal_handler() -> bool:
    return bool(getattr(celery_log, "_in_sighandler", False))


def _terminating() -> bool:
    """Return True once a cold shutdown has begun; Celery stores its exit code there, maybe 0."""
    return state.should_terminate not in (None, False)


def _settle(call: _Call, outcome: futures.Future[Any], settled: futures.Future[None]) -> None:
    try:
        call.settle(outcome)
    except BaseException as error:  # noqa: BLE001  as an executor does; `_on_done` reports it
        settled.set_exception(error)
    else:
        settled.set_result(None)


async def _after(seconds: float, action: Callable[[], None]) -> None:
    await asyncio.sleep(seconds)
    action()
