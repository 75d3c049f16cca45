"""The bridge between threads and the loop, without a worker."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading
from concurrent import futures

import pytest

from heartbit_site.base import aio
from tests.pool.processes import ROOT, wait_until

tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="nobody")


class SoftLimit(Exception):
    """Stands for Celery's SoftTimeLimitExceeded."""


class Waiting:
    """A coroutine that waits until cancelled, performed for a job in a thread of its own."""

    def __init__(self, job: aio.Job) -> None:
        self.entered = threading.Event()
        self.seen_by_coroutine: BaseException | None = None
        self._job = job
        self._executor = futures.ThreadPoolExecutor(1)
        self.outcome = self._executor.submit(self._perform)
        assert self.entered.wait(5)

    def _perform(self) -> None:
        with self._job.bind():
            aio.run(self._wait())

    async def _wait(self) -> None:
        self.entered.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.seen_by_coroutine = aio.cancel_reason()
            raise

    def close(self) -> None:
        self._executor.shutdown()


async def value(of: object) -> object:
    await asyncio.sleep(0)
    return of


async def failing() -> None:
    await asyncio.sleep(0)
    raise LookupError("no such run")


async def thread_id() -> int:
    return threading.get_ident()


def test_run_returns_the_result_and_raises_the_exception() -> None:
    assert aio.run(value(7)) == 7
    with pytest.raises(LookupError, match="no such run"):
        aio.run(failing())


def test_all_threads_share_one_loop_in_its_own_thread() -> None:
    with futures.ThreadPoolExecutor(4) as executor:
        loops = set(executor.map(lambda _: aio.run(thread_id()), range(8)))
    assert len(loops) == 1
    assert threading.get_ident() not in loops


def test_run_inherits_context_variables() -> None:
    async def read() -> str:
        return tenant.get()

    token = tenant.set("acme")
    try:
        assert aio.run(read()) == "acme"
        assert aio.submit(read()).result(5) == "acme"
    finally:
        tenant.reset(token)


async def test_run_refuses_to_block_a_loop() -> None:
    with pytest.raises(RuntimeError, match="await the coroutine"):
        aio.run(value(1))


@pytest.mark.parametrize("final", [False, True])
def test_the_reason_reaches_the_thread_and_the_coroutine(final: bool) -> None:  # noqa: FBT001
    reason = SoftLimit() if not final else aio.ShuttingDown()
    job = aio.Job()
    waiting = Waiting(job)
    job.cancel(reason, final=final)
    assert waiting.outcome.exception(5) is reason
    assert waiting.seen_by_coroutine is reason
    waiting.close()


def test_a_cancel_before_run_is_not_lost() -> None:
    job = aio.Job()
    job.cancel(SoftLimit())
    with job.bind(), pytest.raises(SoftLimit):
        aio.run(value(1))


def test_a_soft_reason_is_delivered_once_so_that_the_task_can_clean_up() -> None:
    job = aio.Job()
    job.cancel(SoftLimit())
    with job.bind():
        with pytest.raises(SoftLimit):
            aio.run(value(1))
        assert aio.run(value("cleaned up")) == "cleaned up"


def test_a_final_reason_overrides_a_soft_one_and_stays() -> None:
    job = aio.Job()
    job.cancel(SoftLimit())
    job.cancel(aio.Terminated(), final=True)
    job.cancel(aio.ShuttingDown(), final=True)
    with job.bind():
        for _ in range(2):
            with pytest.raises(aio.Terminated):
                aio.run(value(1))


def test_a_failing_clean_up_does_not_hide_that_the_job_was_given_up() -> None:
    entered = threading.Event()

    async def clumsy() -> None:
        entered.set()
        try:
            await asyncio.sleep(60)
        finally:
            raise LookupError("clean-up failed")

    job = aio.Job()

    def perform() -> None:
        with job.bind():
            aio.run(clumsy())

    with futures.ThreadPoolExecutor(1) as executor:
        outcome = executor.submit(perform)
        assert entered.wait(5)
        job.cancel(aio.ShuttingDown(), final=True)
        assert isinstance(outcome.exception(5), aio.ShuttingDown)


def test_a_coroutine_that_ignores_its_end_does_not_keep_the_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(aio, "GRACE", 0.05)
    entered, released = threading.Event(), threading.Event()

    async def stubborn() -> None:
        while not released.is_set():
            try:
                entered.set()
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue

    job = aio.Job()

    def perform() -> None:
        with job.bind():
            aio.run(stubborn())

    with futures.ThreadPoolExecutor(1) as executor:
        outcome = executor.submit(perform)
        assert entered.wait(5)
        job.cancel(aio.Terminated(), final=True)
        assert isinstance(outcome.exception(5), aio.Terminated)
    released.set()


def test_a_coroutine_that_cancels_itself_is_an_ordinary_failure() -> None:
    async def quitter() -> None:
        raise asyncio.CancelledError

    with pytest.raises(futures.CancelledError):
        aio.run(quitter())


def test_sys_exit_in_a_coroutine_does_not_stop_the_loop() -> None:
    async def leave() -> None:
        sys.exit(3)

    with pytest.raises(SystemExit):
        aio.run(leave())
    assert aio.run(value("still here")) == "still here"


def test_submit_belongs_to_no_job(caplog: pytest.LogCaptureFixture) -> None:
    job = aio.Job()
    with job.bind():
        job.cancel(aio.Terminated(), final=True)

        async def reason() -> BaseException | None:
            return aio.cancel_reason()

        assert aio.submit(reason()).result(5) is None
        assert isinstance(aio.cancel_reason(), aio.Terminated)
    assert isinstance(aio.submit(failing()).exception(5), LookupError)
    wait_until(lambda: "Background coroutine failed" in caplog.text)


def run_script(script: str) -> str:
    """In a process of its own: the loop of this one belongs to all tests."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script],
        cwd=ROOT, capture_output=True, text=True, timeout=20, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout.strip()


def test_close_cancels_and_the_next_call_starts_anew() -> None:
    script = """
import asyncio
from heartbit_site.base import aio

async def value(of):
    return of

before, background = aio.loop(), aio.submit(asyncio.sleep(60))
aio.close()
print(background.cancelled(), before.is_closed(), aio.run(value("anew")))
"""
    assert run_script(script) == "True True anew"


def test_a_process_ends_quietly_with_coroutines_running() -> None:
    script = """
import asyncio
from heartbit_site.base import aio

async def for_ever():
    try:
        await asyncio.sleep(60)
    finally:
        print("cleaned up", flush=True)

aio.submit(for_ever())
aio.run(asyncio.sleep(0))
"""
    assert run_script(script) == "cleaned up"


def test_a_forked_child_gets_its_own_loop() -> None:
    """The loop's thread exists only in the parent; the child must not wait for it."""
    script = """
import asyncio, os
from heartbit_site.base import aio

async def value(of):
    await asyncio.sleep(0.01)
    return of

aio.run(value(1))
child = os.fork()
if not child:
    os._exit(aio.run(value(7)))
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(status, aio.run(value("parent works")))
"""
    assert run_script(script) == "7 parent works"


async def _fail() -> None:
    raise ValueError("it failed")


async def test_together_gives_results_in_order() -> None:
    async def after(seconds: float) -> float:
        await asyncio.sleep(seconds)
        return seconds

    assert await aio.gather_all(after(0.02), after(0.0)) == [0.02, 0.0]


async def test_the_error_of_one_ends_the_others_and_leaves_no_cancellation_behind() -> None:
    ended: list[str] = []

    async def other() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("other")

    with pytest.raises(BaseExceptionGroup) as caught:
        await aio.gather_all(other(), _fail())
    assert [type(error) for error in caught.value.exceptions] == [ValueError]
    assert ended == ["other"]
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_whoever_stops_the_waiting_task_is_heard_whatever_else_goes_wrong() -> None:
    began = asyncio.Event()

    async def stubborn() -> None:
        began.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            raise ValueError("its end failed") from None

    task = asyncio.create_task(aio.gather_all(stubborn(), stubborn()))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
