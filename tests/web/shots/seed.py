"""A shop with agents that have worked, failed, and wait for somebody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.actions.pause_work import pause_work
from agents.actions.post_message import post_message, start_conversation
from agents.actions.publish_agent import publish_agent
from agents.actions.start_run import start_run
from agents.models import Agent, Run
from agents.pauses import queue
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import Workspace
from tests.fleet import wait_until
from tests.web.shots import parts

if TYPE_CHECKING:
    from uuid import UUID

MODEL = "openai:gpt-5-mini"
PAUSED = "reports"  # a queue that somebody paused
MEMBERS = {
    "orders": ("Knows every order.", ("find_order",)),
    "handbook": ("Knows the shop's rules.", ("search_handbook",)),
    "researcher": ("Finds out facts.", ("current_time",)),
    "analyst": ("Does the sums.", ("calculate", "current_time")),
    "writer": ("Writes friendly replies.", ()),
    "cashier": ("Pays money back, once somebody agreed.", ("find_order", "refund_order")),
}
LEADERS = {
    "support": ("Answers customers.", ("orders", "handbook", "writer")),
    "planner": ("Prepares decisions.", ("researcher", "analyst")),
}


@dataclass(frozen=True, slots=True)
class Demo:
    """What the pictures show.

    Attributes:
        run: The run with sub-agents.
        talk: The conversation with the support.
        asks: The run that waits for somebody.
    """

    workspace: Workspace
    run: UUID
    talk: UUID
    asks: UUID


def seed() -> Demo:
    """Make the shop and let its agents work; the fleet has to be there."""
    workspace = Workspace.objects.create(slug="larkfield", name="Larkfield Bicycles")
    _agents(workspace)
    done = {
        agent_task: _start(workspace, *agent_task)
        for agent_task in (
            ("planner", parts.ISLANDS),
            ("analyst", parts.WEEKLY),
            ("analyst", parts.STOCK),
            ("support", parts.BENT_WHEEL),
        )
    }
    _ended(list(done.values()), "succeeded")
    _ended([_start(workspace, "writer", parts.LOG)], "failed")
    talk = start_conversation(workspace, agent="support", title="Service of another make")
    for text in (parts.GREETING, parts.SATURDAY):
        posted = post_message(talk, text, by="mara", model=MODEL)
        _ended([posted.run_id], "succeeded")
    asks = _start(workspace, "cashier", parts.REFUND)
    _ended([asks], "waiting")
    _start(workspace, "researcher", parts.CATALOGUE)
    pause_work(queue(PAUSED), by=Actor("ada", "web"), reason="new printer until noon")
    return Demo(workspace, done["support", parts.BENT_WHEEL], talk.pk, asks)


def _agents(workspace: Workspace) -> None:
    for name, (description, tools) in MEMBERS.items():
        agent = _agent(workspace, name, description)
        for tool in tools:
            approval = "always" if tool == "refund_order" else ""
            agent.bindings.create(tool=tool, approval=approval)
        publish_agent(agent)
    for name, (description, team) in LEADERS.items():
        agent = _agent(workspace, name, description)
        agent.team.set(Agent.objects.filter(workspace=workspace, name__in=team))
        publish_agent(agent)


def _agent(workspace: Workspace, name: str, description: str) -> Agent:
    prompt = f"You work for Larkfield Bicycles. {description} Be brief and kind."
    return Agent.objects.create(
        workspace=workspace, name=name, description=description, system_prompt=prompt
    )


def _start(workspace: Workspace, agent: str, task: str) -> UUID:
    return start_run(workspace, task, agent=agent, model=MODEL)


def _ended(runs: list[UUID], status: str) -> None:
    rows = Run.objects.filter(pk__in=runs, status=status)
    wait_until(lambda: rows.count() == len(runs), seconds=90, what=f"{runs} {status}")
