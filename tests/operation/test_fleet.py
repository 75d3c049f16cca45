"""The fleet as operators see it, and workers that leave or restart when they are asked."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.db import transaction
from django.utils import timezone

from agents.actions.fleet import WorkerNotFoundError, request_worker_action, set_agent_state
from agents.actions.publish_agent import publish_agent
from agents.models import Agent, RunEvent, WorkerHeartbeat
from agents.reads.fleet import read_fleet
from tests.fleet import Worker, wait_until
from tests.operation.conftest import statuses

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from django.test import Client

    from agents.reads.views import QueueOut, WorkerOut
    from heartbit_site.base.models import Workspace
    from tests.command import Command
    from tests.fleet import WireServer

    Submit = Callable[..., UUID]


@pytest.fixture
def queue() -> str:
    return f"q{secrets.token_hex(4)}"


@pytest.fixture
def queued(workspace: Workspace, queue: str) -> Agent:
    """An agent with a queue of its own."""
    agent = Agent.objects.create(
        workspace=workspace, name="queued", system_prompt="Be brief.", queue=queue
    )
    publish_agent(agent)
    return agent


def queue_now(name: str) -> QueueOut | None:
    return next((row for row in read_fleet().queues if row.name == name), None)


def worker_now(pid: int) -> WorkerOut | None:
    return next((row for row in read_fleet().workers if row.name.endswith(f":{pid}")), None)


def test_a_queue_with_runs_and_no_worker_is_a_problem(
    database: None, queued: Agent, submit: Submit
) -> None:
    runs = [submit("x", "queued"), submit("x", "queued")]
    found = queue_now(queued.queue)
    assert found is not None
    assert (found.depth, found.blocked, found.running, found.has_workers) == (2, 0, 0, False)
    assert found.oldest_seconds > 0
    [problem] = [one for one in read_fleet().problems if queued.queue in one]
    assert problem.startswith("2 runs wait")
    set_agent_state(queued, "stop")
    found = queue_now(queued.queue)
    assert found is not None
    assert (found.depth, found.blocked, found.oldest_seconds) == (0, 2, 0.0)
    assert not [one for one in read_fleet().problems if queued.queue in one]
    assert statuses(runs) == ["queued", "queued"]


def test_a_silent_worker_is_stale(database: None) -> None:
    with transaction.atomic():  # as long as this lasts no sweeper sees the row
        WorkerHeartbeat.objects.create(
            name="silent:1",
            queues=["agents"],
            lease_seconds=5,
            beat_at=timezone.now() - timedelta(seconds=60),
        )
        fleet = read_fleet()
        transaction.set_rollback(True)
    [row] = [one for one in fleet.workers if one.name == "silent:1"]
    assert row.state == "stale"
    assert any("silent:1 has been silent for 60 s" in one for one in fleet.problems)


def test_a_worker_restarts_itself_with_its_run_and_stops_for_good(
    wire_server: WireServer, queued: Agent, submit: Submit, heartbit: Command
) -> None:
    with Worker(queues=queued.queue, concurrency=7) as worker:
        run = submit(f"[[hang: headers times=1]] [[text: Done.]] [[run: {queued.queue}]]", "queued")
        wait_until(lambda: statuses([run]) == ["running"], what="at work")
        shown = heartbit("fleet", "--json")
        before = next(
            row for row in shown.json["workers"] if row["name"].endswith(f":{worker.pid}")
        )
        assert (before["state"], before["slots"], before["slots_used"]) == ("alive", 7, 1)
        assert before["queues"] == [queued.queue]

        ended = heartbit("fleet", "restart", str(before["id"]), "--json")
        assert ended.code == 0, ended.err
        assert ended.json == {"requested_action": "restart", "workers": [before["name"]]}
        assert "1 of 1" in ended.err
        after = worker_now(worker.pid)
        assert after is not None, "the same process serves on"
        assert after.id > before["id"]
        assert (after.slots, after.queues) == (7, [queued.queue])
        wait_until(lambda: statuses([run]) == ["succeeded"], what="done after the restart")
        requeued = RunEvent.objects.filter(run=run, type="run.requeued")
        assert requeued.count() == 1, "handed back once, by the drain"

        stopped = heartbit("fleet", "stop", before["name"])
        assert (stopped.code, stopped.out) == (0, f"Stopped: {before['name']}.\n")
        process = worker._process
        wait_until(lambda: process.poll() is not None, what="its end")
        assert process.returncode == 0, "it ended by itself, as on SIGTERM"
    refused = heartbit("fleet", "stop", before["name"])
    assert refused.code == 2
    assert "no worker is" in refused.err
    with pytest.raises(WorkerNotFoundError, match="no worker"):
        request_worker_action(after.id, "stop")


def test_the_admin_asks_a_worker_to_leave(database: None, admin_browser: Client) -> None:
    with transaction.atomic():  # no sweeper sees the row
        row = WorkerHeartbeat.objects.create(name="asked:1", queues=["agents"], lease_seconds=60)
        page = f"/admin/agents/workerheartbeat/{row.pk}"
        shown = admin_browser.get(f"{page}/change/").content.decode()
        assert f"{page}/restart/" in shown
        admin_browser.post(f"{page}/restart/", {"_form_submitted": "True"})
        row.refresh_from_db()
        assert row.requested_action == "restart"
        assert "Leaving" in admin_browser.get(f"{page}/change/").content.decode()
        transaction.set_rollback(True)
