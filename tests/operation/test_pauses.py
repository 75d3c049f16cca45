"""Queues that are paused, workspaces and everything that are stopped, on a real worker."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING

import pytest
from django.db import connection, transaction

from agents.actions.fleet import pause_work, resume_work, set_agent_state
from agents.actions.publish_agent import publish_agent
from agents.actions.runs import cancel_run, retry_run
from agents.errors import HaltedError
from agents.limits.pauses import EVERYTHING, blocked_reason, of_workspace, queue
from agents.models import Agent, Pause, Run, RunEvent
from agents.reads.fleet import read_fleet
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import AuditEntry, Workspace
from tests.fleet import Worker, wait_until
from tests.operation.conftest import statuses
from tests.pace import in_time
from tests.starts import fork_run, start_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from uuid import UUID

    from tests.fleet import WireServer

    Submit = Callable[..., UUID]

BY = Actor("an operator", "terminal")
LONG = "[[latency: 150]] [[calls: current_time {}]] [[rounds: 40]] [[text: Done.]]"


@pytest.fixture(scope="module")
def queue_name() -> str:
    return f"q{secrets.token_hex(4)}"


@pytest.fixture(scope="module")
def paused_worker(database: None, wire_server: WireServer, queue_name: str) -> Iterator[Worker]:
    """Serves a queue that no other test knows."""
    with Worker(queues=queue_name, concurrency=10) as process:
        yield process


@pytest.fixture
def agent(workspace: Workspace, queue_name: str) -> Iterator[Agent]:
    """An agent on that queue; nothing stays held back."""
    made = Agent.objects.create(
        workspace=workspace, name="solo", system_prompt="Be brief.", queue=queue_name
    )
    made.bindings.create(tool="current_time")
    publish_agent(made)
    yield made
    resume_work(queue(queue_name), by=BY)
    resume_work(of_workspace(workspace), by=BY)
    resume_work(EVERYTHING, by=BY)


def claimable(name: str) -> list[UUID]:
    """What a sweep of the queue would ring, if a doorbell was lost a second ago."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT ring FROM heartbit_unanswered(%s, 100, -1)", [[name]])
        return [row[0] for row in cursor.fetchall()]


def actions(target: str) -> list[str]:
    return list(
        AuditEntry.objects.filter(target=target).order_by("id").values_list("action", flat=True)
    )


def why(run: UUID) -> str:
    return blocked_reason(Run.objects.get(pk=run))


def test_given_a_stopped_agent_then_its_queued_run_says_so_until_it_is_started(
    agent: Agent, workspace: Workspace
) -> None:
    Agent.objects.filter(pk=agent.pk).update(queue="nobody-serves-this")
    run = start_run(workspace, "Wait.", agent=agent.name)
    unserved = why(run)
    assert unserved.startswith("No worker serves the queue nobody-serves-this")
    set_agent_state(agent, "stop")
    assert why(run).startswith("The agent solo is stopped")
    set_agent_state(agent, "start")
    assert why(run) == unserved


def test_given_a_paused_queue_when_runs_come_then_none_starts_until_it_is_resumed(
    paused_worker: Worker, agent: Agent, submit: Submit, queue_name: str
) -> None:
    at_work = submit(f"{LONG} [[rounds: 4]]")
    wait_until(lambda: statuses([at_work]) == ["running"], what="at work")
    held = queue(queue_name)
    assert pause_work(held, by=BY, reason="maintenance")
    assert not pause_work(held, by=BY), "it is paused already"
    runs = [submit("[[text: Done.]]") for _ in range(3)]
    wait_until(lambda: statuses([at_work]) == ["succeeded"], what="what was at work goes on")
    assert claimable(queue_name) == []
    assert set(statuses(runs)) == {"queued"}
    assert f"The queue {queue_name} was paused by an operator (maintenance)" in why(runs[0])
    found = next(row for row in read_fleet().queues if row.name == queue_name)
    assert (found.paused, found.depth, found.blocked, found.workers) == (True, 0, 3, 1)
    assert any(f"The queue {queue_name} is paused" in line for line in read_fleet().problems)

    assert resume_work(held, by=BY)
    wait_until(lambda: set(statuses(runs)) == {"succeeded"}, seconds=5, what="rung by the resume")
    assert not resume_work(held, by=BY), "it is not paused any more"
    assert actions(held.target) == ["queue.pause", "queue.resume"]


@pytest.mark.parametrize("everything", [False, True], ids=["workspace", "everything"])
@pytest.mark.paced
def test_given_a_running_run_when_it_is_killed_then_it_rests_within_2_s_and_goes_on_later(
    paused_worker: Worker, workspace: Workspace, agent: Agent, submit: Submit, *, everything: bool
) -> None:
    held = EVERYTHING if everything else of_workspace(workspace)
    run = submit(LONG)
    wait_until(lambda: RunEvent.objects.filter(run=run, type="model.answered").exists())
    began = time.monotonic()
    assert pause_work(held, by=BY, reason="a drill")
    wait_until(lambda: statuses([run]) == ["queued"], what="handed back")
    took = time.monotonic() - began
    reason = RunEvent.objects.filter(run=run, type="run.requeued").get().payload["reason"]
    assert reason == ("everything stopped" if everything else "workspace stopped")
    assert claimable(agent.queue) == []
    assert "was stopped by an operator (a drill): the run continues when" in why(run)
    slug = agent.workspace.slug
    stopped = "Everything" if everything else f"The workspace {slug}"
    ends = "heartbit fleet resume" if everything else f"heartbit fleet resume {slug}"
    with pytest.raises(HaltedError, match=r"stopped by an operator \(a drill\)") as halted:
        submit("[[text: Done.]]")
    assert str(halted.value).startswith(f"{stopped} was stopped")
    assert f"`{ends}`" in str(halted.value)
    assert held.kind.value in {pause.kind for pause in read_fleet().pauses}

    assert resume_work(held, by=BY)
    wait_until(
        lambda: RunEvent.objects.filter(run=run, type="run.started").count() == 2, what="goes on"
    )
    noun = "everything" if everything else "workspace"
    assert actions(held.target)[-2:] == [f"{noun}.stop", f"{noun}.start"]
    label = AuditEntry.objects.filter(target=held.target).latest("id").label
    assert label == ("everything" if everything else agent.workspace.name)
    in_time(took, 2)


@pytest.mark.paced
def test_given_a_model_call_under_way_when_all_is_killed_then_it_is_cut_off_and_nothing_follows(
    paused_worker: Worker, workspace: Workspace, agent: Agent, submit: Submit
) -> None:
    held = of_workspace(workspace)
    run = submit("[[latency: 6000]] [[calls: current_time {}]] [[text: Done.]]")
    wait_until(lambda: statuses([run]) == ["running"], what="at work")
    began = time.monotonic()
    assert pause_work(held, by=BY, reason="a drill")
    wait_until(lambda: statuses([run]) == ["queued"], what="handed back")
    took = time.monotonic() - began
    kinds = list(RunEvent.objects.filter(run=run).order_by("seq").values_list("type", flat=True))
    assert kinds[-1] == "run.requeued"
    assert "tool.finished" not in kinds
    assert resume_work(held, by=BY)
    wait_until(lambda: statuses([run]) == ["succeeded"], seconds=30, what="goes on")
    in_time(took, 2)


def test_given_a_stopped_workspace_then_others_work(
    paused_worker: Worker, workspace: Workspace, agent: Agent, queue_name: str
) -> None:
    name = f"t-{secrets.token_hex(4)}"
    other = Workspace.objects.create(slug=name, name=name)
    theirs = Agent.objects.create(
        workspace=other, name="solo", system_prompt="Be brief.", queue=queue_name
    )
    publish_agent(theirs)
    pause_work(of_workspace(workspace), by=BY)
    run = start_run(other, "[[text: Done.]]", agent="solo", model="openai:fake")
    wait_until(lambda: statuses([run]) == ["succeeded"], what="another workspace's run")


@pytest.mark.parametrize("everything", [False, True], ids=["workspace", "everything"])
def test_given_a_stop_then_forks_and_retries_are_refused_like_new_runs(
    workspace: Workspace, *, everything: bool
) -> None:
    Agent.objects.filter(workspace=workspace).update(queue="nobody-serves-this")
    made = start_run(workspace, "x", agent="writer", model="openai:fake")
    cancel_run(workspace, made, reason="over")
    source = Run.objects.select_related("workspace", "version__agent").get(pk=made)
    held = EVERYTHING if everything else of_workspace(workspace)
    pause_work(held, by=BY, reason="a drill")
    said = set()
    attempts: tuple[Callable[[], UUID], ...] = (
        lambda: start_run(workspace, "x", agent="writer"),
        lambda: fork_run(source, 0, by=BY),
        lambda: fork_run(source, 0, by=BY, idempotency_key="once"),
        lambda: retry_run(source, by=BY),
    )
    try:
        for refused in attempts:
            with pytest.raises(HaltedError, match=r"stopped by an operator \(a drill\)") as error:
                refused()
            said.add(str(error.value))
    finally:
        resume_work(held, by=BY)
    assert len(said) == 1, "one sentence for all of them"
    assert Run.objects.filter(workspace=workspace).count() == 1
    assert Run.objects.get(pk=fork_run(source, 0, by=BY)).status == "queued"


def test_given_pauses_then_the_claim_reads_no_run_more(agent: Agent) -> None:
    names = [f"p{secrets.token_hex(4)}" for _ in range(20)]
    Pause.objects.bulk_create([Pause(kind="queue", queue=name, by="x") for name in names])
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            # Whether the index can serve it: with few rows, reading them all is cheaper.
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute("SET LOCAL enable_sort = off")
            cursor.execute(
                "EXPLAIN SELECT 1 FROM agents_run t WHERE t.status = 'queued' AND t.home = 'fleet'"
                " AND t.queue = %s AND t.workspace_id = %s AND t.available_at <= clock_timestamp()"
                " AND t.queue <> ALL (%s) AND t.workspace_id <> ALL (%s)"
                " ORDER BY t.priority DESC, t.available_at LIMIT 1",
                ["agents", 3, names, [1, 2]],
            )
            plan = "\n".join(row[0] for row in cursor.fetchall())
    finally:
        Pause.objects.filter(queue__in=names).delete()
    assert "run_claimable" in plan, plan
