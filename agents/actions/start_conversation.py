"""Start a conversation with an agent."""

from __future__ import annotations

from agents.choices import BusyPolicy
from agents.models import Conversation
from agents.reads.agents import find_agent
from heartbit_site.base.audit import NOBODY, Actor
from heartbit_site.base.models import Workspace
from heartbit_site.base.rights import require


def start_conversation(
    workspace: Workspace,
    *,
    agent: str,
    title: str = "",
    busy_policy: BusyPolicy = BusyPolicy.QUEUE,
    origin: str = "",
    by: Actor = NOBODY,
) -> Conversation:
    """Start a conversation with an agent; for ``origin`` see ``RunRequest``.

    Raises:
        ForbiddenError: The author may not start runs.
        AgentNotFoundError: No published agent has that name.
    """
    require(by, "runs:write", workspace_id=workspace.pk)
    find_agent(workspace, agent, origin=origin)
    return Conversation.objects.create(
        workspace=workspace,
        agent=agent,
        origin=origin,
        title=title,
        busy_policy=busy_policy,
    )
