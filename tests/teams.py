"""The default team for a test's workspace, copied: to publish four agents takes forty queries."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, TypeVar

from django.db import transaction
from django.db.models import Model

from agents.models import Agent, AgentVersion, ToolBinding

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace

Row = TypeVar("Row", bound=Model)


class Team:
    """The agents of a workspace as they are now, with their tools, versions and teams."""

    def __init__(self, workspace: Workspace) -> None:
        self._agents = list(Agent.objects.filter(workspace=workspace))
        self._tools = list(ToolBinding.objects.filter(agent__in=self._agents))
        self._versions = list(AgentVersion.objects.filter(agent__in=self._agents))
        self._members = list(Agent.team.through.objects.filter(from_agent__in=self._agents))

    @transaction.atomic
    def copy_to(self, workspace: Workspace) -> None:
        """Give an empty workspace the same agents."""
        copies = [_anew(one, workspace=workspace, current_version_id=None) for one in self._agents]
        agents = _by_old(self._agents, Agent.objects.bulk_create(copies))
        versions = _by_old(
            self._versions,
            AgentVersion.objects.bulk_create(
                _anew(one, agent=agents[one.agent_id]) for one in self._versions
            ),
        )
        for one in self._agents:
            if one.current_version_id is not None:
                agents[one.pk].current_version = versions[one.current_version_id]
        Agent.objects.bulk_update(copies, ["current_version"])
        ToolBinding.objects.bulk_create(
            _anew(one, agent=agents[one.agent_id]) for one in self._tools
        )
        through = Agent.team.through
        through.objects.bulk_create(
            through(from_agent=agents[one.from_agent_id], to_agent=agents[one.to_agent_id])
            for one in self._members
        )


def _anew(row: Row, **changes: Any) -> Row:
    """A row that is not saved yet, with other values in these fields."""
    made = copy(row)
    made._state = copy(row._state)
    made._state.fields_cache = {}
    made.pk, made._state.adding = None, True
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def _by_old(old: list[Row], new: list[Row]) -> dict[Any, Row]:
    return {before.pk: after for before, after in zip(old, new, strict=True)}
