"""The durable path on real worker processes: chords, kills, freezes, drains, cancels."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
import redis
from django.conf import settings
from django.db import connection

from agents.actions.runs import cancel_run
from agents.choices import TERMINAL, RunStatus
from agents.models import Agent, Run, RunEvent, WorkerHeartbeat
from agents.runs import wake_messages
from tests.fleet import WireServer, Worker, frozen, wait_until
from tests.starts import start_run

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace

from tests.pace import in_time
from tests.runtime.test_loop import overlap

TEAM = (
    '[[delegate: {"agent": "researcher", "task": "[[text: Facts.]] [[latency: 300]]"},'
    ' {"agent": "analyst", "task": "[[calls: calculate {\\"expression\\": \\"2+2\\"}]]'
    ' [[text: Four.]] [[latency: 200]]"}, {"agent": "writer", "task": "[[text: Prose.]]'
    ' [[latency: 300]]"}]] [[text: All together.]] [[stream: 300]]'
)

Submit = Callable[..., UUID]


@pytest.fixture
def submit(workspace: Workspace, wire_server: WireServer) -> Submit:
    """Accept a run for the fleet; in a queue of the test's own when one is named."""

    def accept(task: str, *, agent: str = "orchestrator", queue: str = "agents") -> UUID:
        Agent.objects.filter(workspace=workspace).update(queue=queue)
        return start_run(workspace, task, agent=agent, model="openai:fake")

    return accept


@pytest.fixture
def own_worker(database: None, wire_server: WireServer) -> Iterator[Callable[..., Worker]]:
    """Workers of the test's own, for what is done to them."""
    workers: list[Worker] = []

    def start(queue: str) -> Worker:
        worker = Worker(queues=queue, concurrency=20)
        workers.append(worker)
        worker.start()
        return worker

    yield start
    for worker in workers:
        worker.stop()
        worker.log.unlink()


def ended(run_id: UUID, *, seconds: float = 30) -> Run:
    """The run, once it has ended."""

    def look() -> Run | None:
        run = Run.objects.get(pk=run_id)
        return run if run.status in TERMINAL else None

    found: Run = wait_until(look, seconds=seconds, what=f"end of {run_id}")
    return found


def events(run_id: UUID, kind: str) -> list[RunEvent]:
    return list(RunEvent.objects.filter(run_id=run_id, type=kind))


def test_a_team_is_a_chord_of_tasks_that_overlap(submit: Submit, worker: Worker) -> None:
    run = ended(submit(TEAM))
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "All together.")
    children = list(run.children.all())
    assert len(children) == 3
    tasks = {events(child.pk, "run.started")[0].payload["task_id"] for child in children}
    first, last = (event.payload["task_id"] for event in events(run.pk, "run.started"))
    assert len({first, *tasks}) == 4, "each sub-agent is a Celery task of its own"
    assert last in tasks, "the last to end continues with the run that waits for it"
    assert overlap(children)


def test_a_waiting_parent_holds_no_worker(submit: Submit, worker: Worker) -> None:
    run_id = submit('[[delegate: {"agent": "writer", "task": "[[latency: 800]] [[text: P.]]"}]]')
    wait_until(lambda: Run.objects.filter(pk=run_id, status=RunStatus.WAITING).exists())
    parent = Run.objects.get(pk=run_id)
    assert (parent.worker_id, parent.open_waits) == (None, 1)
    assert ended(run_id).status == RunStatus.SUCCEEDED


def test_a_killed_workers_run_goes_on_elsewhere_and_asks_nothing_twice(
    submit: Submit, own_worker: Callable[..., Worker], wire_server: WireServer
) -> None:
    victim = own_worker("q-kill")
    run_id = submit(
        '[[run: kill]] [[calls: calculate {"expression": "1+1"}]]'
        "[[then: current_time {}]] [[latency: 400]] [[text: Done.]]",
        agent="analyst",
        queue="q-kill",
    )
    wait_until(lambda: events(run_id, "model.answered"))
    victim.kill()
    own_worker("q-kill")
    run = ended(run_id)
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Done.")
    answered = [event.payload["turn"] for event in events(run_id, "model.answered")]
    assert answered == [1, 2, 3], "a journaled answer is never asked for again"
    assert len(events(run_id, "run.started")) == 2
    assert len(events(run_id, "run.requeued")) == 1


def test_a_frozen_worker_is_fenced(submit: Submit, own_worker: Callable[..., Worker]) -> None:
    zombie = own_worker("q-zombie")
    former = WorkerHeartbeat.objects.get(name__endswith=f":{zombie.pid}", left_at=None)
    run_id = submit("[[latency: 1500]] [[text: Once.]]", agent="writer", queue="q-zombie")
    wait_until(lambda: events(run_id, "run.started"))
    with frozen(zombie):
        own_worker("q-zombie")
        assert ended(run_id).output == "Once."
        before = Run.objects.get(pk=run_id).last_seq
    anew = WorkerHeartbeat.objects.filter(name=former.name, left_at=None, pk__gt=former.pk)
    wait_until(anew.exists, what="the zombie registers anew")
    assert Run.objects.get(pk=run_id).last_seq == before
    assert len(events(run_id, "run.succeeded")) == 1


def test_sigterm_hands_runs_over_at_once(submit: Submit, own_worker: Callable[..., Worker]) -> None:
    leaving = own_worker("q-drain")
    run_id = submit("[[latency: 8000]] [[text: Done.]]", agent="writer", queue="q-drain")
    wait_until(lambda: events(run_id, "run.started"))
    leaving.signal(signal.SIGTERM)
    wait_until(lambda: events(run_id, "run.requeued"))
    assert not events(run_id, "model.answered"), "it waits for no model"
    own_worker("q-drain")
    run = ended(run_id)
    assert (run.output, run.crashes) == ("Done.", 0), "a drain never counts as an attempt"
    assert leaving.stop() == 0


@pytest.mark.paced
def test_a_running_model_call_is_cancelled(
    submit: Submit, worker: Worker, workspace: Workspace
) -> None:
    run_id = submit("[[hang: headers]]", agent="writer")
    wait_until(lambda: events(run_id, "run.started"))
    cancel_run(workspace, run_id, reason="enough")
    run = ended(run_id)
    assert run.status == RunStatus.CANCELLED
    (asked,) = events(run_id, "run.cancel_requested")
    assert run.finished_at is not None
    in_time((run.finished_at - asked.at).total_seconds(), 1)


def test_a_flushed_broker_loses_nothing(submit: Submit, worker: Worker) -> None:
    run_id = submit(TEAM)
    wait_until(lambda: events(run_id, "call.waiting"))
    redis.Redis.from_url(settings.REDIS_URL).flushall()
    assert ended(run_id).output == "All together."


def test_a_database_that_drops_every_session_loses_nothing(
    submit: Submit, own_worker: Callable[..., Worker]
) -> None:
    worker = own_worker("q-database")
    run_id = submit(
        "[[calls: current_time {}]] [[then: current_time {}]] [[latency: 300]] [[text: Done.]]",
        agent="researcher",
        queue="q-database",
    )
    wait_until(lambda: events(run_id, "model.answered"))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name LIKE 'heartbit-%'"
        )
    run = ended(run_id)
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Done.")
    turns = [event.payload["turn"] for event in events(run_id, "model.answered")]
    assert turns == [1, 2, 3]
    again = ended(submit("[[text: Still here.]]", agent="writer", queue="q-database"))
    assert again.output == "Still here."
    assert worker.stop() == 0


def test_duplicate_nudges_change_nothing(submit: Submit, worker: Worker) -> None:
    run_id = submit("[[text: Once.]] [[latency: 200]]", agent="writer")
    for _ in range(10):
        wake_messages.wake_run(run_id, queue="agents")
    assert ended(run_id).output == "Once."
    assert len(events(run_id, "run.started")) == 1
