"""A kind of run that starts others, without a model and without tool calls."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from agents.choices import RunKind, RunStatus
from agents.live.view import RunView
from agents.models import Agent, AgentVersion, Run
from agents.runs.history import load_history
from heartbit_site.base import orm
from tests.kinds.relay.agent_tools import KIND
from tests.kinds.test_echo import publish_echo, types

if TYPE_CHECKING:
    from collections.abc import Callable

    from heartbit_site.base.models import Workspace
    from tests.runtime.conftest import Studio


def publish_relay(workspace: Workspace, *stages: list[dict[str, Any]]) -> Agent:
    agent = Agent.objects.create(workspace=workspace, name="relay", description="Passes on.")
    snapshot = {"kind": KIND, "format": 2, "tools": [], "team": [], "stages": stages}
    agent.current_version = AgentVersion.objects.create(
        agent=agent, number=1, hash=secrets.token_hex(32), snapshot=snapshot
    )
    agent.save()
    return agent


def change(agent: Agent, **says: str) -> None:
    """Publish another version of an echo."""
    first = agent.current_version
    assert first is not None
    agent.current_version = AgentVersion.objects.create(
        agent=agent, number=2, hash=secrets.token_hex(32), snapshot={**first.snapshot, **says}
    )
    agent.save()


async def test_runs_started_without_a_tool_call_are_joined_and_name_what_they_are(
    studio: Studio, agent: Callable[..., Agent]
) -> None:
    def team() -> None:
        parrot = publish_echo(studio.workspace, says="First:")
        pinned = parrot.current_version_id
        change(parrot, says="Second:")
        agent("solo", tools=("calculate",))
        publish_relay(
            studio.workspace,
            [
                {"agent": "parrot", "task": "{}", "version_id": pinned, "payload": {"n": 1}},
                {"agent": "parrot", "task": "{}"},
                {"agent": "solo", "task": "", "tool": "calculate",
                 "arguments": '{"expression": "6*7"}'},
            ],
            [{"agent": "solo", "task": "[[text: Done.]] {}", "model": "openai:other"}],
        )  # fmt: skip

    await orm.run_in_thread(team)
    run = await studio.run("hello", agent="relay", model="")
    assert (run.kind, run.status, run.output) == (KIND, RunStatus.SUCCEEDED, "Done.")
    first, second, call, last = await orm.run_in_thread(lambda: list(run.children.order_by("pk")))
    assert (first.output, first.payload) == ("First: hello", {"n": 1})
    assert second.output == "Second: hello", "no version named: the current one"
    assert (call.kind, call.output) == (RunKind.TOOL_CALL, "42")
    assert last.model == "openai:other"
    assert last.task == "[[text: Done.]] First: hello Second: hello 42"
    assert await orm.run_in_thread(lambda: types(run)) == [
        *("run.created", "run.started", *("child.started",) * 3, *("wait.resolved",) * 3),
        *("run.started", "child.started", "wait.resolved", "run.started", "run.succeeded"),
    ]


async def test_given_a_version_of_another_agent_then_no_child_is_started(
    studio: Studio, agent: Callable[..., Agent]
) -> None:
    def team() -> None:
        publish_echo(studio.workspace)
        version = agent("solo").current_version_id
        publish_relay(studio.workspace, [{"agent": "parrot", "task": "{}", "version_id": version}])

    await orm.run_in_thread(team)
    run = await studio.run("hello", agent="relay", model="")
    assert run.status == RunStatus.FAILED
    assert "parrot is gone or stopped" in str(run.error)
    assert not await orm.run_in_thread(lambda: run.children.exists())


async def test_its_view_shows_whom_it_waits_for(studio: Studio) -> None:
    def team() -> None:
        publish_echo(studio.workspace)
        publish_relay(studio.workspace, [{"agent": "parrot", "task": "{}"}])

    await orm.run_in_thread(team)
    run = await studio.run("hello", agent="relay", model="")
    journal = (await orm.run_in_thread(lambda: load_history(run))).journal
    view, doing = RunView(run.pk, None, run.agent, run.task), []
    for recorded in journal:
        view.fold(recorded)
        doing.append(view.snapshot()["run"]["doing"])
    assert "Waits for parrot" in doing
    assert await orm.run_in_thread(lambda: Run.objects.filter(parent=run).count()) == 1
