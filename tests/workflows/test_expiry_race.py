"""Conformance case 12: a question of a workflow expires and is answered at the same instant."""

from __future__ import annotations

import secrets
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection, transaction

from agents.actions.waits import answer_wait
from agents.choices import RunStatus
from agents.errors import CallClosedError
from agents.models import Run, Wait
from agents.runs import wake_messages
from agents.runs.overdue_waits import expire_waits
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.query import fetch_one
from tests.fleet import Worker, wait_until
from tests.starts import start_run
from tests.workflows.test_fleet import is_over, publish_graph

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from uuid import UUID

    from heartbit_site.base.models import Workspace

pytestmark = pytest.mark.usefixtures("database")
QUEUE = f"expiry-{secrets.token_hex(4)}"
SWEPT = 1_000
REFUSED = r"does not wait for a decision \(any more\)|has succeeded meanwhile|was already answered"
PATIENCE = 30
#: In this time an answer is given, but not committed.
SOON = timedelta(seconds=2)


@pytest.fixture(scope="module", autouse=True)
def fleet(database: None) -> Iterator[None]:
    """A worker, whose sweeper takes part in the race."""
    with Worker(queues=QUEUE):
        yield


@pytest.fixture
def wait(workspace: Workspace) -> Wait:
    """An open question, which has days left."""
    ask = {"ask": "Go on?", "timeout": "2d", "on_timeout": "too late"}
    publish_graph(workspace, name="asks", queue=QUEUE, steps={"a": ask})
    run_id = start_run(workspace, "x", agent="asks")
    waits = Wait.objects.select_related("run").filter(run=run_id, run__status=RunStatus.WAITING)
    found: Wait = wait_until(waits.first)
    return found


def answer(wait: Wait) -> None:
    answer_wait(wait, answer="yes", by=SYSTEM)


def outcome(run: Run) -> tuple[Any, ...]:
    """Return how a run has ended, and how its wait was resolved, once it has."""
    wait_until(lambda: is_over(run))
    run.refresh_from_db()
    [resolved] = run.events.filter(type="wait.resolved")
    return run.status, run.output, resolved.payload["value"]["status"]


def alone(deed: Callable[[], Any]) -> Any:
    """Do something in a session of its own."""
    try:
        return deed()
    finally:
        connection.close()


def expired() -> list[UUID]:
    """Expire waits as a sweeper does; return the runs to wake."""
    return expire_waits(SWEPT)


def is_due(wait: Wait) -> bool:
    return Wait.objects.filter(pk=wait.pk, expires_at__lt=clock()).exists()


def clock() -> datetime:
    """Return the time, also within a transaction."""
    found: datetime = fetch_one("SELECT clock_timestamp()")[0]
    return found


def test_an_answer_before_the_expiry_is_the_outcome(wait: Wait) -> None:
    Wait.objects.filter(pk=wait.pk).update(expires_at=clock() + SOON)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            answer(wait)
            wait_until(lambda: is_due(wait))
            # Others see a question that is due and has no answer.
            assert pool.submit(alone, lambda: is_due(wait)).result(PATIENCE)
            assert wait.run_id not in pool.submit(alone, expired).result(PATIENCE)
        assert wait.run_id not in expired()
    with pytest.raises(CallClosedError, match=REFUSED):
        answer(wait)
    assert outcome(wait.run) == (RunStatus.SUCCEEDED, "yes", "answered")


def test_an_answer_after_the_expiry_is_refused(wait: Wait) -> None:
    pids: list[int] = []

    def late() -> None:
        pids.append(fetch_one("SELECT pg_backend_pid()")[0])
        answer(wait)

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            Wait.objects.filter(pk=wait.pk).update(expires_at=clock())
            assert wait.run_id in expired()
            answered = pool.submit(alone, late)
            wait_until(lambda: pids and is_blocked(pids[0]))
        with pytest.raises(CallClosedError, match=REFUSED):
            answered.result(PATIENCE)
    wake_messages.wake_run(wait.run_id, queue=QUEUE)
    assert outcome(wait.run) == (RunStatus.SUCCEEDED, "too late", "expired")


def is_blocked(pid: int) -> bool:
    """Return True if a session waits for the lock of another one."""
    (blocked,) = fetch_one("SELECT cardinality(pg_blocking_pids(%s)) > 0", [pid])
    return bool(blocked)
