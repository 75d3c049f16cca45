"""The team that tests get by copying is the one that an empty workspace gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents.actions.write_agents import create_default_team
from agents.models import Agent
from heartbit_site.base.ids import new_id
from heartbit_site.base.models import Workspace

if TYPE_CHECKING:
    from django.db.models import Model

    from tests.teams import Team

#: What tells one workspace's rows from another's.
OWN = {
    *("id", "workspace_id", "agent_id", "current_version_id"),
    *("created_at", "updated_at", "enabled_at"),
}


def columns(row: Model) -> dict[str, Any]:
    """All others."""
    names = {field.attname for field in row._meta.concrete_fields} - OWN
    return {name: getattr(row, name) for name in names}


def told(workspace: Workspace) -> list[Any]:
    """All that an agent is."""
    agents = Agent.objects.filter(workspace=workspace).order_by("name")
    return [
        (
            columns(agent),
            agent.current_version and (agent.current_version.hash, agent.current_version.snapshot),
            agent.current_version and agent.current_version.agent_id == agent.pk,
            [columns(one) for one in agent.bindings.order_by("tool")],
            [(one.name, one.workspace_id == workspace.pk) for one in agent.team.order_by("name")],
        )
        for agent in agents
    ]


def test_a_copied_team_is_the_default_team(workspace: Workspace, team: Team) -> None:
    other = Workspace.objects.create(slug=f"t-{new_id().hex[-12:]}", name="other")
    create_default_team(other)
    assert told(workspace) == told(other)
