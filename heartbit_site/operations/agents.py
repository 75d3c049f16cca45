"""Agents: definition, activity and figures."""

from __future__ import annotations

from django.db.models import QuerySet

from agents.actions import save_agent as saving
from agents.errors import AgentNotFoundError
from agents.models import Agent
from agents.reads.agents import spec_of
from agents.reads.metrics import agents_with_metrics
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.base.errors import Remedy
from heartbit_site.base.models import Workspace
from heartbit_site.contract.agents import (
    AgentChangeIn,
    AgentDetailOut,
    AgentIn,
    AgentOut,
    AgentsOut,
)
from heartbit_site.contract.model import USUAL, Cursor, Limit, Name, Word
from heartbit_site.contract.operation import Answered
from heartbit_site.operations.paging import page
from tools.texts.near_names import closest


def list_agents(access: Access, *, cursor: Cursor = None, limit: Limit = USUAL) -> AgentsOut:
    """Return the workspace's published agents by name."""
    rows, following = page(_published(access.workspace), "name", cursor, limit)
    found = agents_with_metrics(access.workspace, names=[row.name for row in rows])
    published = [overview for overview in found if overview.agent.current_version is not None]
    return AgentsOut(
        agents=[AgentOut.of(overview) for overview in published], next_cursor=following
    )


def create_agent(
    access: Access, body: AgentIn, idempotency_key: Word | None = None
) -> Answered[AgentDetailOut]:
    """Create and publish an agent. 200 instead of 201 if the idempotency key was used before.

    The same key with the same name creates one agent, however often it is sent.
    """
    written = saving.create_agent(
        access.workspace, body, by=actor_of(access), key=idempotency_key or None
    )
    return Answered(201 if written.is_new else 200, _find(access.workspace, written.row.name))


def show_agent(access: Access, name: Name) -> AgentDetailOut:
    """Return an agent with its activity and its editable settings."""
    return _find(access.workspace, name)


def change_agent(access: Access, name: Name, body: AgentChangeIn) -> AgentDetailOut:
    """Change the given settings and publish the agent: new runs use them.

    `version` is the version that you have read: 409 if it is no longer the current one.
    """
    given = body.model_fields_set - {"version"}
    written = saving.change_agent(
        access.workspace, name, body, given, by=actor_of(access), version=body.version
    )
    return _find(access.workspace, written.row.name)


def _published(workspace: Workspace) -> QuerySet[Agent]:
    """Return the editable agents that can have runs, stopped ones included."""
    return Agent.objects.filter(workspace=workspace, origin="", current_version__isnull=False)


def _find(workspace: Workspace, name: str) -> AgentDetailOut:
    for overview in agents_with_metrics(workspace, names=[name]):
        if overview.agent.current_version is not None:
            # Editable settings: a request with them changes nothing.
            settings = spec_of(overview.agent).model_dump(mode="json")
            return AgentDetailOut.of(overview, definition=settings)
    near = closest(name, list(_published(workspace).values_list("name", flat=True)))
    hint = f": did you mean {near[0]}?" if near else "."
    remedy = None if near else Remedy("agents.list_agents")
    raise AgentNotFoundError(f"There is no agent named {name!r}{hint}", remedy=remedy)
