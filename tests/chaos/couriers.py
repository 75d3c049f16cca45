"""The agents of the scenarios, and the scripts that say what their runs do to the world outside."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agents.actions.publish_agent import publish_agent
from agents.choices import AgentApproval, MixedData
from agents.models import Agent, ToolBinding
from heartbit_site.base.models import Workspace
from tests.chaos.journals import CAREFUL
from tests.chaos.toolbox import agent_tools
from tools.definitions.registry import registry

if TYPE_CHECKING:
    from collections.abc import Iterable

COURIER = "courier"
#: The agent that does the same from scripts.
SCRIPTED = "scripted"
TOOLS = ("current_time", "http_request", "store_item")
#: What a run does in each round: S stores an item (idempotent), R sends a request (at most once),
#: T looks at the clock.
SCRIPT = ("SR", "R", "S", "SR", "T", "R")
#: Shorter, because its runs also wait for people.
CAREFUL_SCRIPT = ("SR", "R", "S")
#: For scenarios that need many runs rather than long ones.
SHORT_SCRIPT = ("SR", "R")


def workspace_of_couriers(queue: str) -> Workspace:
    """A workspace with the agents, on a queue of its own.

    The careful one asks a person before each effect. The courier recalls memories at the start of a
    run, so its slices ask the database through the ORM too.
    """
    workspace = Workspace.objects.create(slug=queue, name=queue)
    add_agent(workspace, COURIER, queue=queue, memory_tokens=500)
    add_agent(workspace, SCRIPTED, queue=queue, code_mode=True)
    add_agent(workspace, CAREFUL, queue=queue, approval=AgentApproval.EFFECTS)
    return workspace


def add_agent(
    workspace: Workspace,
    name: str,
    *,
    queue: str,
    approval: AgentApproval = AgentApproval.NEVER,
    team: Iterable[str] = (),
    code_mode: bool = False,
    memory_tokens: int = 0,
) -> None:
    """Publish a courier of that name; with a team it may delegate to those couriers.

    Its tools are registered in this process as ``HEARTBIT_EXTRA_APPS`` does it in the workers.
    """
    registry.discover([agent_tools])
    agent = Agent.objects.create(
        workspace=workspace,
        name=name,
        system_prompt="You deliver things.",
        model="openai:chaos",
        queue=queue,
        approval=approval,
        code_mode=code_mode,
        memory_tokens=memory_tokens,
        # The effects server is a private host, whose answers are private data.
        mixed_data=MixedData.ALLOW,
    )
    ToolBinding.objects.bulk_create(ToolBinding(agent=agent, tool=tool) for tool in TOOLS)
    agent.team.set(Agent.objects.filter(workspace=workspace, name__in=team))
    publish_agent(agent)


def task(name: str, script: Iterable[str], *, effects_url: str) -> str:
    """The script of a run; every effect has a name of its own."""
    rounds: list[str] = []
    for number, letters in enumerate(script):
        calls = [_call(letter, f"{name}/{number}{letter}", effects_url) for letter in letters]
        rounds.append(f"[[{'then' if rounds else 'calls'}: {', '.join(calls)}]]")
    return f"[[run: {name}]] {' '.join(rounds)}"


def script_task(name: str, script: Iterable[str], *, effects_url: str) -> str:
    """The same, as one Python script that the run's model writes."""
    lines = ["import asyncio"]
    for number, letters in enumerate(script):
        texts = (_call(letter, f"{name}/{number}{letter}", effects_url) for letter in letters)
        calls = (text.partition(" ") for text in texts)
        together = ", ".join(f"{tool}(**{arguments})" for tool, _, arguments in calls)
        lines.append(f"await asyncio.gather({together})")
    arguments = json.dumps({"script": "\n".join(lines)})
    return f"[[run: {name}]] [[calls: run_script {arguments}]]"


def _call(letter: str, op: str, effects_url: str) -> str:
    if letter == "T":
        return "current_time {}"
    if letter == "S":
        return f"store_item {json.dumps({'op': op})}"
    request = {"method": "POST", "url": f"{effects_url}/send", "json": {"op": op}}
    return f"http_request {json.dumps(request)}"
