"""A kind of run that starts others, without a model and without tool calls."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.fork_run import Edits, fork_run
from agents.choices import Placement, RunKind, RunStatus
from agents.errors import InvalidEditError
from agents.live.follow import wait_for_end
from agents.live.tree_view import TreeView
from agents.live.updates import EventUpdate, seen
from agents.loop import checkpoint
from agents.loop.history import TurnNotFoundError
from agents.models import Agent, AgentVersion
from agents.runs.history import load_history
from heartbit_site.base import orm
from tests.kinds.relay.agent_tools import KIND, RelayState
from tests.kinds.test_echo import ADA, publish_echo, types

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

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
        assert parrot.current_version is not None
        pinned = parrot.current_version.hash
        change(parrot, says="Second:")
        agent("solo", tools=("calculate",))
        publish_relay(
            studio.workspace,
            [
                {"agent": "parrot", "task": "{}", "version": pinned, "payload": {"n": 1}},
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
        other = agent("solo").current_version
        assert other is not None
        publish_relay(studio.workspace, [{"agent": "parrot", "task": "{}", "version": other.hash}])

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
    tree, doing = TreeView(), []
    tree.apply(seen(run))
    view = tree.runs[run.pk]
    for recorded in (await orm.run_in_thread(lambda: load_history(run))).journal:
        tree.apply(EventUpdate(run.pk, recorded))
        doing.append(view.snapshot()["run"]["doing"])
    assert doing == ["Queued", "Works", "Waits for parrot", "Queued again", "Works", ""]
    notes = [part for name, part in view.snapshot().items() if name.startswith("note ")]
    assert [note["title"] for note in notes] == ["Waits for parrot"]


async def test_it_is_forked_after_a_stage_whose_runs_are_not_repeated(studio: Studio) -> None:
    def team() -> None:
        change(publish_echo(studio.workspace), says="Again:")
        child = {"agent": "parrot", "task": "{}"}
        publish_relay(studio.workspace, [child], [child], [child])

    await orm.run_in_thread(team)
    run = await studio.run("hello", agent="relay", model="")
    assert run.output == "Again: Again: Again: hello"
    with pytest.raises(TurnNotFoundError, match="no step 4; its finished steps are: 1 to 3"):
        await orm.run_in_thread(lambda: fork_run(run, 4, by=ADA))
    with pytest.raises(InvalidEditError, match="from its beginning, another task"):
        await orm.run_in_thread(lambda: fork_run(run, 2, edits=Edits(task="Other."), by=ADA))

    def fork() -> UUID:
        parrot = Agent.objects.get(workspace=studio.workspace, name="parrot")
        parrot.current_version = parrot.versions.get(number=1)
        parrot.save()
        return fork_run(run, 2, by=ADA, home=Placement.LOCAL).run_id

    forked_id = await orm.run_in_thread(fork)
    studio.host.execute(forked_id)
    forked = await wait_for_end(forked_id, studio.host.window)
    assert (forked.kind, forked.output) == (KIND, "Echo: Again: Again: hello")
    assert await orm.run_in_thread(forked.children.count) == 1, "the last stage alone"


async def test_its_state_outlasts_a_checkpoint() -> None:
    state = RelayState(said=["One.", "Two."])
    stored = json.loads(json.dumps(checkpoint.encode(KIND, state)))
    assert checkpoint.decode(KIND, stored) == state
