"""A kind of run that Heartbit does not have: one module, and a line in the list of engines."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING

import pytest

from agents.actions.publish_agent import publish_agent
from agents.actions.runs import retry_run
from agents.choices import Placement, RunStatus
from agents.live.follow import wait_for_end
from agents.models import Agent, AgentVersion, Run
from heartbit_site.base import orm
from heartbit_site.base.audit import Actor
from tests.fleet import Worker, wait_until
from tests.kinds import echo
from tests.kinds.echo.agent_tools import KIND
from tests.starts import start_run, start_tool_call

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from heartbit_site.base.models import Workspace
    from tests.runtime.conftest import Studio

ADA = Actor("ada", "web")


def publish_echo(workspace: Workspace, *, queue: str = "agents", **says: str) -> Agent:
    """Publish what a workflow's editor would: a version of another kind."""
    agent = Agent.objects.create(
        workspace=workspace, kind=KIND, name="parrot", description="Repeats.", queue=queue
    )
    snapshot = {"kind": KIND, "format": 2, "tools": [], "team": [], "says": "Echo:", **says}
    agent.current_version = AgentVersion.objects.create(
        agent=agent, number=1, hash=secrets.token_hex(32), snapshot=snapshot
    )
    agent.save()
    return agent


def types(run: Run) -> list[str]:
    return list(run.events.values_list("type", flat=True))


async def test_a_run_of_another_kind_waits_and_succeeds_without_a_model(studio: Studio) -> None:
    await orm.run_in_thread(lambda: publish_echo(studio.workspace))
    run = await studio.run("hello", agent="parrot", model="")
    assert (run.kind, run.status, run.output) == (KIND, RunStatus.SUCCEEDED, "Echo: hello")
    assert run.model == ""
    repeated = await orm.run_in_thread(lambda: retry_run(run, by=ADA, home=Placement.LOCAL))
    studio.host.execute(repeated)
    again = await wait_for_end(repeated, studio.host.window)
    assert (again.kind, again.output) == (KIND, "Echo: hello")


async def test_an_agent_delegates_to_a_run_of_another_kind(
    studio: Studio, agent: Callable[..., Agent]
) -> None:
    def team() -> None:
        boss = agent("boss")
        boss.team.add(publish_echo(studio.workspace))
        publish_agent(boss)

    await orm.run_in_thread(team)
    order = json.dumps({"agent": "parrot", "task": "hello"})
    run = await studio.run(f"[[delegate: {order}]] [[text: Done.]]", agent="boss")
    child = await orm.run_in_thread(lambda: run.children.get())
    assert (child.kind, child.output) == (KIND, "Echo: hello")
    assert child.model == "", "its parent's model is of no use to it"
    call = await orm.run_in_thread(lambda: run.calls.get())
    assert (run.output, call.status) == ("Done.", "ok")
    assert "Echo: hello" in (call.result or "")


async def test_a_tool_call_on_a_version_that_is_no_agents_is_refused(studio: Studio) -> None:
    await orm.run_in_thread(lambda: publish_echo(studio.workspace))
    run_id = await orm.run_in_thread(
        lambda: start_tool_call(
            studio.workspace, "calculate", {}, agent="parrot", home=Placement.LOCAL
        )
    )
    studio.host.execute(run_id)
    run = await wait_for_end(run_id, studio.host.window)
    assert run.status == RunStatus.FAILED
    assert "defines a run of the kind echo, not of the kind agent" in str(run.error)


@pytest.mark.usefixtures("database")
def test_given_a_worker_that_is_killed_then_another_one_finishes_the_run(
    workspace: Workspace, tmp_path: Path
) -> None:
    queue, hold = f"echo-{secrets.token_hex(4)}", tmp_path / "hold"
    hold.touch()
    publish_echo(workspace, queue=queue, hold=str(hold))
    run = Run.objects.get(pk=start_run(workspace, "hello", agent="parrot"))
    environment = {"HEARTBIT_EXTRA_APPS": echo.__package__ or "", "HEARTBIT_LEASE_SECONDS": "3"}
    with Worker(queues=queue, environment=environment) as first:
        wait_until(lambda: types(run)[-2:] == ["wait.resolved", "run.started"])
        first.kill()
    hold.unlink()
    with Worker(queues=queue, environment=environment):
        wait_until(lambda: Run.objects.filter(pk=run.pk, finished_at__isnull=False).exists())
    run.refresh_from_db()
    assert (run.status, run.output, run.crashes) == (RunStatus.SUCCEEDED, "Echo: hello", 1)
    assert types(run) == [
        *("run.created", "run.started", "run.paused", "wait.resolved", "run.started"),
        *("run.requeued", "run.started", "run.succeeded"),
    ]


@pytest.mark.usefixtures("database")
def test_given_a_worker_that_does_not_know_the_kind_then_the_run_waits_for_one_that_does(
    workspace: Workspace,
) -> None:
    queue = f"echo-{secrets.token_hex(4)}"
    publish_echo(workspace, queue=queue)
    run = Run.objects.get(pk=start_run(workspace, "hello", agent="parrot"))
    with Worker(queues=queue):
        wait_until(lambda: types(run)[-1] == "run.requeued")
    run.refresh_from_db()
    assert (run.status, run.crashes) == (RunStatus.QUEUED, 0)
    with Worker(queues=queue, environment={"HEARTBIT_EXTRA_APPS": echo.__package__ or ""}):
        wait_until(lambda: Run.objects.filter(pk=run.pk, status="succeeded").exists())
