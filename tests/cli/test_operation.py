"""`heartbit fleet`, and agents at work: what operators see and do, here and against a server."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pytest

from agents.actions.publish_agent import publish_agent
from agents.models import Agent, Pause, ToolBinding
from heartbit_site.base.models import AuditEntry
from heartbit_site.cli.terminal.errors import USAGE
from tests.api.server import key_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heartbit_site.base.models import Workspace
    from tests.cli.places import Place


@pytest.fixture
def solo(workspace: Workspace) -> Agent:
    """An agent that may ask for the time."""
    agent = Agent.objects.create(workspace=workspace, name="solo", system_prompt="Be brief.")
    ToolBinding.objects.create(agent=agent, tool="current_time")
    publish_agent(agent)
    return agent


@pytest.fixture
def queue(database: None) -> Iterator[str]:
    """A queue of the test's own, which does not stay paused."""
    name = f"q{secrets.token_hex(4)}"
    yield name
    Pause.objects.filter(queue=name).delete()


def audited(target: str) -> list[str]:
    entries = AuditEntry.objects.filter(target=target).order_by("number")
    return [entry.action for entry in entries]


def test_agents_are_switched(place: Place, solo: Agent) -> None:
    assert place("agents", "stop", "solo").out == "The agent solo is stopped.\n"
    solo.refresh_from_db()
    assert not solo.enabled
    status = place("agents", "status", "solo", "--json").json
    assert (status["state"], status["tools"]["loaded"]) == ("stopped", ["current_time"])
    assert (status["version"], status["runs"], status["metrics"]["cost_usd"]) == (1, [], "0")
    shown = place("agents", "status", "solo")
    assert "tools loaded  current_time" in shown.out, shown.err
    assert place("agents", "start", "solo", "--json").json["state"] == "idle"
    assert place("agents", "restart", "solo").out == "The agent solo is restarted.\n"
    assert audited(f"agent:{solo.pk}")[-3:] == ["agent.stop", "agent.start", "agent.restart"]
    unknown = place("agents", "stop", "sol")
    assert (unknown.code, unknown.err.count("\n")) == (USAGE, 1)
    assert "solo" in unknown.err


def test_all_agents_are_listed_one_that_is_not_published_too(
    place: Place, workspace: Workspace, solo: Agent
) -> None:
    Agent.objects.create(workspace=workspace, name="draft", system_prompt="Be brief.")
    listed = place("agents", "status", "--json").json
    assert set(listed) == {"agents"}
    found = {row["name"]: row["version"] for row in listed["agents"]}
    assert (found["draft"], found["solo"]) == (None, 1)
    assert "solo" in place("agents", "status").out


def test_the_fleet_is_shown(place: Place) -> None:
    shown = place("fleet", "--json").json
    assert list(shown) == ["workers", "queues", "totals", "pauses", "problems"]
    assert "slots in use" in place("fleet").out
    assert place("fleet", "restart", "999999999").code == USAGE


def test_what_a_key_does_not_open_is_named(there: Place, workspace: Workspace, solo: Agent) -> None:
    key = key_for(workspace, ("runs:read", "agents:read"))
    narrow = type(there)(there.command, {**there.env, "HEARTBIT_API_KEY": key})
    for words, scope in (
        (("fleet",), "fleet:manage"),
        (("agents", "stop", "solo"), "agents:write"),
    ):
        refused = narrow(*words)
        assert refused.code == USAGE
        assert scope in refused.err


def test_queues_workspaces_and_tools_are_held_back_and_go_on(
    place: Place, workspace: Workspace, queue: str
) -> None:
    slug = workspace.slug
    tool = f"The tool calculate in {slug}"
    steps = (
        (("pause-queue", queue, "--reason", "x"), f"The queue {queue} is paused."),
        (("pause-queue", queue), f"The queue {queue} was already paused."),
        (("resume-queue", queue), f"The queue {queue} is resumed."),
        (("halt", slug), f"The workspace {slug} is stopped."),
        (("resume", slug), f"The workspace {slug} is resumed."),
        (("resume",), "Everything was not stopped."),
        (
            ("disable-tool", "calculate", "--workspace", slug, "--reason", "x"),
            f"{tool} is stopped.",
        ),
        (("disable-tool", "calculate", "--workspace", slug), f"{tool} was already stopped."),
        (("enable-tool", "calculate"), "The tool calculate was not stopped."),
        (("enable-tool", "calculate", "--workspace", slug), f"{tool} may be called again."),
    )
    for arguments, said in steps:
        done = place("fleet", *arguments)
        assert (done.code, done.out.strip()) == (0, said), done.err
    assert audited(f"queue:{queue}") == ["queue.pause", "queue.resume"]
    assert audited(f"workspace:{workspace.pk}")[-2:] == ["workspace.stop", "workspace.start"]
    assert place("fleet", "resume-queue", queue, "--json").json == {
        "kind": "queue", "name": queue, "workspace": "", "paused": False, "changed": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("halt", "no-such-place"), "'no-such-place'"),
        (("halt", ""), "short name is empty"),
        (("disable-tool", "calculate", "--workspace", ""), "short name is empty"),
        (("disable-tool", "calcualte"), "did you mean calculate?"),
        (("pause", "x" * 65), "queue"),
    ],
)
def test_what_cannot_be_held_back_is_one_sentence(
    place: Place, arguments: tuple[str, ...], part: str
) -> None:
    before = Pause.objects.count()
    ended = place("fleet", *arguments)
    assert (ended.code, ended.out, ended.err.count("\n")) == (USAGE, "", 1), ended
    assert part in ended.err
    assert Pause.objects.count() == before
