"""What a worker that goes away does with the tasks it has."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.pace import in_time
from tests.pool.processes import ROOT, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from celery import Celery

    from tests.pool.processes import Valkey, Worker

FOR_EVER = 60

both = pytest.mark.parametrize("kind", ["", "loop."], ids=["thread", "loop"])


@both
def test_warm_shutdown_waits_and_hands_back_what_has_not_started(
    client: Celery, valkey: Valkey, start_worker: Callable[..., Worker], kind: str
) -> None:
    worker = start_worker(concurrency=2)
    for number in range(3):
        client.send_task(f"{kind}wait", (f"run {number}", 0.6), ignore_result=True)
    worker.wait_for("started", count=2)
    worker.stop(signal.SIGTERM)
    assert worker.process.returncode == 0
    started = len(worker.events("started"))  # 2, unless the signal came late
    assert len(worker.events("finished")) == started
    assert not worker.events("cancelled")
    assert (valkey.queued(), valkey.unacked()) == (3 - started, 0)


@pytest.mark.paced
@both
def test_cold_shutdown_cancels_and_hands_every_message_back(
    client: Celery, valkey: Valkey, start_worker: Callable[..., Worker], kind: str
) -> None:
    worker = start_worker(concurrency=2)
    for number in range(4):
        client.send_task(f"{kind}wait_late", (f"run {number}", FOR_EVER), ignore_result=True)
    worker.wait_for("started", count=2)
    seconds = worker.stop(signal.SIGQUIT)
    assert [event["reason"] for event in worker.events("cancelled")] == ["ShuttingDown"] * 2
    assert (valkey.queued(), valkey.unacked()) == (4, 0)
    in_time(seconds, 4)


@pytest.mark.paced
@both
def test_a_warm_shutdown_can_be_told_to_hurry(
    client: Celery, valkey: Valkey, start_worker: Callable[..., Worker], kind: str
) -> None:
    worker = start_worker(concurrency=2)
    client.send_task(f"{kind}wait_late", ("long", FOR_EVER), ignore_result=True)
    worker.wait_for("started", "long")
    worker.process.send_signal(signal.SIGTERM)
    wait_until(lambda: "Warm shutdown" in worker.log(), what="the warm shutdown begins")
    seconds = worker.stop(signal.SIGQUIT)
    assert worker.events("cancelled", "long")[0]["reason"] == "ShuttingDown"
    assert (valkey.queued(), valkey.unacked()) == (1, 0)
    in_time(seconds, 4)


@pytest.mark.paced
@both
def test_soft_shutdown_lets_short_tasks_finish_and_hands_back_the_rest(
    client: Celery, valkey: Valkey, start_worker: Callable[..., Worker], kind: str
) -> None:
    worker = start_worker(concurrency=2, soft_shutdown=1)
    client.send_task(f"{kind}wait_late", ("short", 0.3), ignore_result=True)
    client.send_task(f"{kind}wait_late", ("long", FOR_EVER), ignore_result=True)
    worker.wait_for("started", count=2)
    seconds = worker.stop(signal.SIGQUIT)
    assert seconds >= 1
    assert worker.events("finished", "short")
    assert worker.events("cancelled", "long")[0]["reason"] == "ShuttingDown"
    assert (valkey.queued(), valkey.unacked()) == (1, 0)
    in_time(seconds, 5)


def test_synchronous_code_that_does_not_return_cannot_keep_the_process() -> None:
    script = """
import threading
from heartbit_site import celery_pool as pool
from heartbit_site.base import aio

aio.GRACE, pool.EXIT_AFTER = -0.9, 0.1
started = threading.Event()
threads = pool.LoopThreadPool(1)
threads.start()
threads.apply_async(lambda: started.set() or threading.Event().wait(60), callback=print)
started.wait()
threads.terminate()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=20,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (os.EX_SOFTWARE, "")
    assert "1 jobs are stuck" in done.stderr


@both
def test_a_saturated_worker_leaves_messages_to_others_and_notices_a_free_slot(
    client: Celery, valkey: Valkey, start_worker: Callable[..., Worker], kind: str
) -> None:
    """With worker_disable_prefetch; an early-acknowledged task wakes the consumer when it ends."""
    worker = start_worker(concurrency=1)
    for number in range(6):
        client.send_task(f"{kind}wait", (f"run {number}", 0.2), ignore_result=True)
    worker.wait_for("started", count=1)

    def taken() -> int:
        return 6 - valkey.queued()

    wait_until(lambda: taken() - len(worker.events("finished")) <= 1, what="the others stay")
    finished = worker.wait_for("finished", count=6)
    started = worker.events("started")[1:]
    gaps = [s["at"] - f["at"] for f, s in zip(finished, started, strict=False)]
    # Unwoken, the consumer notices at its next timer, about a second later.
    assert statistics.median(gaps) < 0.3, gaps
