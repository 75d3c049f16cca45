"""What the edges need: an agent that calculates, a run of it that has ended, one that waits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.actions.publish_agent import publish_agent
from agents.choices import TERMINAL
from agents.models import Agent, Run, ToolBinding
from agents.querysets import calls_waiting
from tests.fleet import wait_until
from tests.starts import start_run

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace

_SUM = '[[calls: calculate {"expression": "6*7"}]] [[text: Done.]]'


@dataclass(frozen=True, slots=True)
class Stage:
    """In a workspace: ``run`` has ended, ``waiting`` has not."""

    agent: Agent
    run: str
    waiting: str


def served(workspace: Workspace, agent: str) -> str:
    """A run that a worker has served, just now; its id.

    Raises:
        AssertionError: None does.
    """
    run = Run.objects.get(pk=start_run(workspace, _SUM, agent=agent, model="openai:fake"))
    wait_until(lambda: _ended(run), seconds=30, what="a worker that serves a run")
    assert run.output == "Done.", run.error
    return str(run.pk)


def set_up(workspace: Workspace, name: str, *, queue: str) -> Stage:
    """Publish the agent, and run it twice."""
    agent = Agent.objects.create(
        workspace=workspace, name=name, system_prompt="You calculate.", queue=queue
    )
    ToolBinding.objects.create(agent=agent, tool="calculate")
    publish_agent(agent)
    run = served(workspace, name)
    waiting = start_run(workspace, _SUM, agent=name, model="openai:fake", approve=True)
    wait_until(lambda: calls_waiting(workspace).filter(run=waiting).exists(), what="an approval")
    return Stage(agent, run, str(waiting))


def _ended(run: Run) -> bool:
    run.refresh_from_db()
    return run.status in TERMINAL
