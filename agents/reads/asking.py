"""Sentences about the calls and questions for which the runs of an agent wait."""

from __future__ import annotations

from collections.abc import Iterator

from agents.definitions.advice import asks
from agents.models import Agent
from agents.reads.agents import spec_of
from tools.definitions.catalogue import catalogue

ALL = "Every tool call waits for a person."


def asks_of(agent: Agent, *, approve: bool = False, tool: str = "") -> list[str]:
    """Return sentences about the calls and questions for which a run of an agent waits.

    Args:
        agent: The agent or workflow, as it is now; its team counts as well.
        approve: Whether every tool call of the run needs an approval.
        tool: The one tool that the run calls; empty: a model, or a workflow, chooses.
    """
    if approve:
        return [ALL]
    tools = catalogue(agent.workspace_id)
    if tool:
        return [*asks(spec_of(agent), tools, only=tool)]
    found: list[str] = []
    for member in _with_team(agent, set()):
        spec = spec_of(member)
        if member.enabled or member == agent:
            found += asks(spec, tools)
        nodes = [node.name for node in getattr(spec, "nodes", ()) if getattr(node, "ask", None)]
        if nodes:
            found.append(f"{member.name} asks a person at {', '.join(nodes)}.")
    return found


def _with_team(agent: Agent, seen: set[int]) -> Iterator[Agent]:
    if agent.pk in seen:
        return
    seen.add(agent.pk)
    yield agent
    for member in agent.team.order_by("name"):
        yield from _with_team(member, seen)
