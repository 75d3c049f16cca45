"""Agents by name."""

from __future__ import annotations

from agents.definitions.unknown_agent import unknown_agent
from agents.errors import AgentNotFoundError
from agents.limits.pauses import refuse_if_halted
from agents.models import Agent
from heartbit_site.base.models import Workspace


def find_agent(workspace: Workspace, name: str, *, origin: str = "") -> Agent:
    """Return the workspace's published agent with that name.

    Raises:
        AgentNotFoundError: No agent has that name, or it is stopped; the message lists those that
            exist.
        HaltedError: The workspace, or everything, is stopped.
    """
    agents = Agent.objects.filter(workspace=workspace, origin=origin, current_version__isnull=False)
    row = agents.filter(name=name).first()
    if row is not None and not row.enabled:
        raise AgentNotFoundError(f"The agent {name} is stopped: `heartbit agents start {name}`.")
    refuse_if_halted(workspace)
    if row is None:
        names = list(agents.values_list("name", flat=True))
        raise unknown_agent(name, names, "this run's own team" if origin else workspace.slug)
    return row
