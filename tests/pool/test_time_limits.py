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


@pytest.mark.paced
def test_soft_limit_raises_in_the_task(client: Celery, worker: Worker) -> None:
    result = client.send_task("wait", ("soft", FOR_EVER), soft_time_limit=1)
    with pytest.raises(SoftTimeLimitExceeded):
        result.get(timeout=10)
    (cancelled,) = worker.wait_for("cancelled", "soft")
    (started,) = worker.events("started", "soft")
    assert cancelled["reason"] == "SoftTimeLimitExceeded"
    took = cancelled["at"] - started["at"]
    assert took > 0.9
    in_time(took, 3)


def test_a_task_may_catch_the_soft_limit_and_clean_up(client: Celery, worker: Worker) -> None:
    result = client.send_task("wait_then_clean_up", ("tidy", FOR_EVER), soft_time_limit=1)
    assert result.get(timeout=10) == "tidy, cleaned up"
    assert worker.events("finished", "tidy, cleaned up")


def test_hard_limit_fails_the_task_and_cancels_the_coroutine(
    client: Celery, worker: Worker
) -> None:
    result = client.send_task("wait", ("hard", FOR_EVER), time_limit=1)
    with pytest.raises(TimeLimitExceeded):
        result.get(timeout=10)
    (cancelled,) = worker.wait_for("cancelled", "hard")
    assert cancelled["reason"] == "Terminated"


def test_hard_limit_is_reported_in_time_even_for_synchronous_code(
    client: Celery, worker: Worker
) -> None:
    result = client.send_task("block", ("sync", 2), time_limit=1)
    with pytest.raises(TimeLimitExceeded):
        result.get(timeout=10)
    assert not worker.events("finished", "sync")
    worker.wait_for("finished", "sync")


def test_revoke_terminate_cancels_a_running_task(client: Celery, worker: Worker) -> None:
    result = client.send_task("wait", ("revoked", FOR_EVER))
    worker.wait_for("started", "revoked")
    result.revoke(terminate=True)
    (cancelled,) = worker.wait_for("cancelled", "revoked")
    assert cancelled["reason"] == "Terminated"
    with pytest.raises(TaskRevokedError):
        result.get(timeout=10)


def test_a_task_that_exits_is_a_failure_and_the_worker_goes_on(
    client: Celery, worker: Worker
) -> None:
    """Stock threads never settle such a message."""
    result = client.send_task("leave")
    wait_until(lambda: result.state == "FAILURE", what="the failure is stored")
    assert client.send_task("echo", (1,)).get(timeout=10) == 1
    assert worker.alive()


def test_inspect_shows_the_pool(client: Celery, worker: Worker) -> None:
    answers: Any = client.control.inspect(timeout=5, limit=1).stats()
    (stats,) = answers.values()
    assert stats["pool"]["implementation"].endswith(LoopThreadPool.__name__)
    assert stats["pool"]["max-concurrency"] == 4
    assert stats["pool"]["processes"] == [worker.process.pid]
    assert stats["pool"]["jobs"] == 0
