"""The Celery application the worker processes of these tests run."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from celery import Celery
from celery.exceptions import SoftTimeLimitExceeded
from kombu import Queue

from heartbit_site import kombu_patches
from heartbit_site.base import aio
from heartbit_site.base.loop_task import on_loop

URL = os.environ["POOL_TEST_URL"]
REPORT = Path(os.environ["POOL_TEST_REPORT"])

kombu_patches.install()
app = Celery("pool-tests", broker=URL, backend=URL)
app.conf.update(
    accept_content=["json"],
    broker_connection_retry_on_startup=True,
    broker_transport_options={"health_check_interval": 1, "unacked_restore_interval": 1},
    task_ignore_result=False,
    worker_disable_prefetch=True,
    worker_prefetch_multiplier=1,
    worker_soft_shutdown_timeout=float(os.environ.get("POOL_TEST_SOFT_SHUTDOWN", "0")),
)
if os.environ.get("POOL_TEST_NO_ACK"):
    app.conf.task_queues = [Queue("celery", no_ack=True)]
_reporting = threading.Lock()


def report(event: str, **facts: object) -> None:
    """Append one line that the test reads; survives the broker and the worker."""
    with _reporting, REPORT.open("a") as lines:
        lines.write(json.dumps({"event": event, "at": time.time(), **facts}) + "\n")


async def pause(name: str, seconds: float) -> str:
    report("started", name=name)
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        report("cancelled", name=name, reason=type(aio.cancel_reason()).__name__)
        raise
    report("finished", name=name)
    return name


@app.task(name="echo")
def echo(value: Any) -> Any:
    return value


@app.task(name="total")
def total(values: list[int]) -> int:
    return sum(values)


@app.task(name="note")
def note(name: str) -> None:
    report("noted", name=name)


@app.task(name="loop.wait", bind=True)
@on_loop
async def loop_wait(task_id: str, name: str, seconds: float) -> str:
    report("task", name=name, id=task_id, thread=threading.current_thread().name)
    return await pause(name, seconds)


@app.task(name="loop.wait_late", acks_late=True, reject_on_worker_lost=True, bind=True)
@on_loop
async def loop_wait_late(_: str, name: str, seconds: float) -> str:
    return await pause(name, seconds)


@app.task(name="loop.wait_then_clean_up", bind=True)
@on_loop
async def loop_wait_then_clean_up(_: str, name: str, seconds: float) -> str:
    try:
        return await pause(name, seconds)
    except asyncio.CancelledError:
        if not isinstance(aio.cancel_reason(), SoftTimeLimitExceeded):
            raise
        return await pause(f"{name}, cleaned up", 0.01)


@app.task(name="loop.note", bind=True)
@on_loop
async def loop_note(_: str, name: str) -> None:
    report("noted", name=name)


@app.task(name="loop.leave", bind=True)
@on_loop
async def loop_leave(_: str) -> None:
    raise SystemExit(3)


@app.task(name="loop.fail", bind=True)
@on_loop
async def loop_fail(_: str, name: str) -> None:
    raise LookupError(name)


@app.task(name="loop.ignore_cancellation", bind=True)
@on_loop
async def loop_ignore_cancellation(_: str, name: str) -> None:
    report("started", name=name)
    for _attempt in range(40):
        try:
            await asyncio.sleep(0.25)
        except asyncio.CancelledError:
            report("ignored", name=name)


@app.task(name="wait")
def wait(name: str, seconds: float) -> str:
    return aio.run(pause(name, seconds))


@app.task(name="wait_late", acks_late=True, reject_on_worker_lost=True)
def wait_late(name: str, seconds: float) -> str:
    return aio.run(pause(name, seconds))


@app.task(name="wait_then_clean_up")
def wait_then_clean_up(name: str, seconds: float) -> str:
    try:
        return aio.run(pause(name, seconds))
    except SoftTimeLimitExceeded:
        return aio.run(pause(f"{name}, cleaned up", 0.01))


@app.task(name="block")
def block(name: str, seconds: float) -> None:
    report("started", name=name)
    threading.Event().wait(seconds)
    report("finished", name=name)


@app.task(name="leave")
def leave() -> None:
    raise SystemExit(3)


def main() -> None:
    """Be a worker, as `heartbit serve` starts one; its concurrency is the one argument."""
    worker = app.Worker(
        pool_cls="heartbit_site.celery_pool:LoopThreadPool",
        concurrency=int(sys.argv[1]),
        loglevel="INFO",
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    )
    worker.start()
    sys.exit(worker.exitcode)


if __name__ == "__main__":
    main()
