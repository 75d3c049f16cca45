"""Limits and revocation: a coroutine can be interrupted where a thread cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from celery.exceptions import SoftTimeLimitExceeded, TaskRevokedError, TimeLimitExceeded

from heartbit_site.celery_pool import LoopThreadPool
from tests.pace import in_time
from tests.pool.processes import wait_until

if TYPE_CHECKING:
    from celery import Celery

    from tests.pool.processes import Worker

FOR_EVER = 60

#: A function that waits in its thread, and a coroutine.
both = pytest.mark.parametrize("kind", ["", "loop."], ids=["thread", "loop"])


@pytest.mark.paced
@both
def test_soft_limit_raises_in_the_task(client: Celery, worker: Worker, kind: str) -> None:
    result = client.send_task(f"{kind}wait", (f"{kind}soft", FOR_EVER), soft_time_limit=1)
    with pytest.raises(SoftTimeLimitExceeded):
        result.get(timeout=10)
    (cancelled,) = worker.wait_for("cancelled", f"{kind}soft")
    (started,) = worker.events("started", f"{kind}soft")
    assert cancelled["reason"] == "SoftTimeLimitExceeded"
    took = cancelled["at"] - started["at"]
    assert took > 0.9
    in_time(took, 3)


@both
def test_a_task_may_catch_the_soft_limit_and_clean_up(
    client: Celery, worker: Worker, kind: str
) -> None:
    result = client.send_task(
        f"{kind}wait_then_clean_up", (f"{kind}tidy", FOR_EVER), soft_time_limit=1
    )
    assert result.get(timeout=10) == f"{kind}tidy, cleaned up"
    assert worker.events("finished", f"{kind}tidy, cleaned up")


@both
def test_hard_limit_fails_the_task_and_cancels_the_coroutine(
    client: Celery, worker: Worker, kind: str
) -> None:
    result = client.send_task(f"{kind}wait", (f"{kind}hard", FOR_EVER), time_limit=1)
    with pytest.raises(TimeLimitExceeded):
        result.get(timeout=10)
    (cancelled,) = worker.wait_for("cancelled", f"{kind}hard")
    assert cancelled["reason"] == "Terminated"


def test_hard_limit_is_reported_in_time_even_for_synchronous_code(
    client: Celery, worker: Worker
) -> None:
    result = client.send_task("block", ("sync", 2), time_limit=1)
    with pytest.raises(TimeLimitExceeded):
        result.get(timeout=10)
    assert not worker.events("finished", "sync")
    worker.wait_for("finished", "sync")


@both
def test_revoke_terminate_cancels_a_running_task(client: Celery, worker: Worker, kind: str) -> None:
    result = client.send_task(f"{kind}wait", (f"{kind}revoked", FOR_EVER))
    worker.wait_for("started", f"{kind}revoked")
    result.revoke(terminate=True)
    (cancelled,) = worker.wait_for("cancelled", f"{kind}revoked")
    assert cancelled["reason"] == "Terminated"
    with pytest.raises(TaskRevokedError):
        result.get(timeout=10)


@both
def test_a_task_that_exits_is_a_failure_and_the_worker_goes_on(
    client: Celery, worker: Worker, kind: str
) -> None:
    """Stock threads never settle such a message."""
    result = client.send_task(f"{kind}leave")
    wait_until(lambda: result.state == "FAILURE", what="the failure is stored")
    assert client.send_task("echo", (1,)).get(timeout=10) == 1
    assert worker.alive()


def test_a_coroutine_knows_its_task_and_takes_no_thread(client: Celery, worker: Worker) -> None:
    results = [client.send_task("loop.wait", (f"light {n}", 0.2)) for n in range(3)]
    assert [result.get(timeout=10) for result in results] == ["light 0", "light 1", "light 2"]
    told = [worker.wait_for("task", f"light {n}")[0] for n in range(3)]
    assert [event["id"] for event in told] == [result.id for result in results]
    assert {event["thread"] for event in told} == {"heartbit-loop"}


def test_an_error_of_a_coroutine_is_the_task_s(client: Celery, worker: Worker) -> None:
    with pytest.raises(LookupError, match="no such thing"):
        client.send_task("loop.fail", ("no such thing",)).get(timeout=10)
    with pytest.raises(TypeError):
        client.send_task("loop.fail", ("one", "too many")).get(timeout=10)
    assert client.send_task("echo", (1,)).get(timeout=10) == 1
    assert worker.alive()


def test_inspect_shows_the_pool(client: Celery, worker: Worker) -> None:
    answers: Any = client.control.inspect(timeout=5, limit=1).stats()
    (stats,) = answers.values()
    assert stats["pool"]["implementation"].endswith(LoopThreadPool.__name__)
    assert stats["pool"]["max-concurrency"] == 4
    assert stats["pool"]["processes"] == [worker.process.pid]
    assert stats["pool"]["jobs"] == 0


def test_a_coroutine_that_ignores_its_cancellation_keeps_no_slot(
    client: Celery, worker: Worker
) -> None:
    results = [
        client.send_task("loop.ignore_cancellation", (f"deaf {n}",), time_limit=1) for n in range(4)
    ]
    for result in results:
        with pytest.raises(TimeLimitExceeded):
            result.get(timeout=10)
    assert client.send_task("echo", (1,)).get(timeout=10) == 1  # of four slots all were taken
    assert worker.events("ignored", "deaf 0")
