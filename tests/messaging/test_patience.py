"""How long somebody is waited for: as long as was said, whatever was stopped meanwhile."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from django.db import connection

from agents.actions.fleet import pause_work, resume_work, set_agent_state
from agents.actions.publish_agent import publish_agent
from agents.actions.send_message import ask_agent
from agents.choices import RunStatus
from agents.limits.pauses import EVERYTHING, of_workspace, queue
from agents.models import Agent, Run, Wait, WorkerHeartbeat
from heartbit_site.base.audit import Actor
from heartbit_site.base.ids import new_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agents.limits.pauses import PauseTarget
    from agents.messaging.addresses import Sender
    from heartbit_site.base.models import Workspace
    from tests.messaging.conftest import Writes

BY = Actor("an operator", "terminal")
PATIENCE = 60
_SUSPEND = "SELECT * FROM heartbit_suspend(%s, %s, %s, '[]', %s::jsonb)"


@pytest.fixture
def asker(unserved: Workspace, writes: Writes) -> Iterator[Sender]:
    """An agent of its own queue, whose run is at work; nothing stays held back."""
    agent = Agent.objects.get(workspace=unserved, name="analyst")
    agent.queue = f"asks-{unserved.slug}"
    agent.save()
    publish_agent(agent)
    yield writes("analyst")
    for held in (
        of_workspace(unserved),
        queue("nobody-serves-this"),
        queue(agent.queue),
        EVERYTHING,
    ):
        resume_work(held, by=BY)


def wait_of(sender: Sender) -> Wait:
    assert sender.run is not None
    return Wait.objects.get(run=sender.run.pk)


def suspend(sender: Sender, child: str) -> Run:
    """Let its run wait for another one; that run."""
    assert sender.run is not None
    worker = WorkerHeartbeat.objects.create(name="w", home="fleet", queues=[], lease_seconds=3600)
    run = Run.objects.get(pk=sender.run.pk)
    Run.objects.filter(pk=run.pk).update(status="running", worker=worker)
    wait = {"id": child, "agent": "writer", "task": "x", "call_id": "1.0"}
    waits = json.dumps([{**wait, "timeout_seconds": PATIENCE}])
    with connection.cursor() as cursor:
        cursor.execute(_SUSPEND, [run.pk, run.lease_token, run.last_seq, waits])
    worker.delete()
    return Run.objects.get(pk=child)


def asks(sender: Sender) -> Run:
    """Ask the writer; the run that answers."""
    asked = ask_agent(sender, "writer", "How is it?", timeout_seconds=PATIENCE, key="k")
    return suspend(sender, str(asked.children[0].run_id))


def delegates(sender: Sender) -> Run:
    """Give the writer a task; its run."""
    return suspend(sender, str(new_id()))


def later(minutes: int) -> None:
    """What the sweepers do after so many minutes."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE agents_wait SET created_at = created_at - make_interval(mins => %s),"
            " expires_at = expires_at - make_interval(mins => %s) WHERE resolved_at IS NULL",
            [minutes, minutes],
        )
        cursor.execute("SELECT count(*) FROM heartbit_expire_waits(100)")


def left(sender: Sender) -> float:
    """The seconds until it waits no more."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT extract(epoch FROM expires_at - clock_timestamp())"
            " FROM agents_wait WHERE id = %s",
            [wait_of(sender).pk],
        )
        return float(cursor.fetchone()[0])


def status(run: Run | Sender) -> str:
    found = run if isinstance(run, Run) else run.run
    assert found is not None
    return Run.objects.get(pk=found.pk).status


@pytest.mark.parametrize("begin", [asks, delegates])
@pytest.mark.parametrize("what", [of_workspace, lambda _: EVERYTHING], ids=["workspace", "all"])
def test_stopped_again_and_again_it_is_as_patient_as_at_first(
    unserved: Workspace,
    asker: Sender,
    begin: Callable[[Sender], Run],
    what: Callable[[Workspace], PauseTarget],
) -> None:
    child = begin(asker)
    for _ in range(4):
        pause_work(what(unserved), by=BY)
        later(10)
        assert status(asker) == RunStatus.WAITING, "the time stands still"
        resume_work(what(unserved), by=BY)
        assert PATIENCE - 10 < left(asker) <= PATIENCE
    later(2)
    assert (status(asker), status(child)) == (RunStatus.QUEUED, RunStatus.CANCELLED)


def test_a_sub_agent_that_is_stopped_again_and_again_is_waited_for_no_longer(
    unserved: Workspace, asker: Sender
) -> None:
    delegates(asker)
    writer = Agent.objects.get(workspace=unserved, name="writer")
    for _ in range(4):
        set_agent_state(writer, "stop")
        later(10)
        assert status(asker) == RunStatus.WAITING, "its orchestrator is patient meanwhile"
        set_agent_state(writer, "start")
        assert PATIENCE - 10 < left(asker) <= PATIENCE


def test_given_an_agent_that_is_stopped_while_asked_then_the_asker_goes_on_at_its_time(
    unserved: Workspace, asker: Sender
) -> None:
    child = asks(asker)
    writer = Agent.objects.get(workspace=unserved, name="writer")
    set_agent_state(writer, "stop")
    later(0)
    assert status(asker) == RunStatus.WAITING
    later(2)
    assert (status(asker), status(child)) == (RunStatus.QUEUED, RunStatus.CANCELLED)
    assert (wait_of(asker).value or {})["status"] == "expired"


def test_an_agent_that_is_stopped_and_started_gets_no_more_time_for_its_answer(
    unserved: Workspace, asker: Sender
) -> None:
    asks(asker)
    before = wait_of(asker).expires_at
    writer = Agent.objects.get(workspace=unserved, name="writer")
    set_agent_state(writer, "stop")
    set_agent_state(writer, "start")
    pause_work(queue("nobody-serves-this"), by=BY)
    resume_work(queue("nobody-serves-this"), by=BY)
    assert wait_of(asker).expires_at == before


def test_given_a_paused_queue_then_the_asker_of_another_one_goes_on_at_its_time(
    unserved: Workspace, asker: Sender
) -> None:
    child = asks(asker)
    pause_work(queue("nobody-serves-this"), by=BY)
    later(2)
    assert (status(asker), status(child)) == (RunStatus.QUEUED, RunStatus.CANCELLED)


def test_given_an_asker_that_is_held_back_then_it_waits_and_begins_anew(
    unserved: Workspace, asker: Sender
) -> None:
    child = asks(asker)
    analyst = Agent.objects.get(workspace=unserved, name="analyst")
    set_agent_state(analyst, "stop")
    later(10)
    assert (status(asker), status(child)) == (RunStatus.WAITING, RunStatus.QUEUED)
    set_agent_state(analyst, "start")
    assert PATIENCE - 10 < left(asker) <= PATIENCE
    pause_work(queue(analyst.queue), by=BY)
    later(10)
    assert (status(asker), status(child)) == (RunStatus.WAITING, RunStatus.QUEUED)
    resume_work(queue(analyst.queue), by=BY)
    assert PATIENCE - 10 < left(asker) <= PATIENCE
