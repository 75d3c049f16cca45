"""A workspace with the agents of the workloads."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from agents.actions.publish_agent import publish_agent
from agents.actions.run_request import start_conversation
from agents.models import Agent, ToolBinding
from agents.models.agent import unlimited
from heartbit_site.base.models import Workspace
from tests.bench.toolbox import agent_tools
from tests.bench.workloads import LEAD, MEMBERS, MODEL, SOLO, SYSTEM_PROMPT, TOOLS, WORKER
from tests.starts import post_message, start_run
from tools.definitions.registry import registry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from uuid import UUID

    from agents.choices import Placement
    from tests.bench.workloads import Workload

_LONG_SECONDS = 3600


def create(
    *,
    queue: str,
    tools: tuple[str, ...] = TOOLS,
    max_turns: int = 10,
    context: Mapping[str, object] | None = None,
) -> Workspace:
    """A new one; its agents' runs are for the workers of ``queue``.

    Args:
        queue: Where its runs go.
        tools: Of the agents that call tools.
        max_turns: Theirs.
        context: Their context strategy; None: everything is sent.
    """
    registry.discover([agent_tools])
    slug = f"bench-{secrets.token_hex(4)}"
    workspace = Workspace.objects.create(slug=slug, name=slug)

    def agent(name: str, *bound: str) -> Agent:
        created = Agent.objects.create(
            workspace=workspace,
            name=name,
            system_prompt=SYSTEM_PROMPT,
            model=MODEL,
            queue=queue,
            max_turns=max_turns,
            timeout_seconds=_LONG_SECONDS,
            context_strategy=dict(context or unlimited()),
        )
        ToolBinding.objects.bulk_create(ToolBinding(agent=created, tool=tool) for tool in bound)
        publish_agent(created)
        return created

    agent(SOLO)
    agent(WORKER, *tools)
    members = [agent(name, *tools) for name in MEMBERS]
    lead = agent(LEAD)
    lead.team.set(members)
    publish_agent(lead)
    return workspace


def starts(workspace: Workspace, workload: Workload, home: Placement) -> Callable[[], UUID]:
    """Return what starts a run of the workload, or the next one of its conversation."""
    task, agent = workload.task, workload.agent
    if workload.messages == 1:
        return lambda: start_run(workspace, task, agent=agent, home=home)
    thread = start_conversation(workspace, agent=agent)
    return lambda: post_message(thread, task, home=home).run_id
