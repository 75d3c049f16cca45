"""An agent with three versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agents.actions.publish_agent import publish_agent
from agents.models import Agent, ToolBinding

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace


@pytest.fixture
def keeper(workspace: Workspace) -> Agent:
    """Version 1 calculates, 2 has another prompt and helper, 3 has other tools and limits."""
    row = Agent.objects.create(workspace=workspace, name="keeper", system_prompt="One.\nTwo.\n")
    ToolBinding.objects.create(agent=row, tool="calculate", defaults={"expression": "1"})
    publish_agent(row)
    row.system_prompt = "One.\nThree.\n"
    row.save()
    row.team.add(Agent.objects.get(workspace=workspace, name="writer"))
    publish_agent(row)
    row.bindings.all().delete()
    ToolBinding.objects.create(agent=row, tool="current_time", approval="always")
    row.team.clear()
    row.max_turns, row.max_retries, row.strong_model = 3, 7, "openai:gpt-6-sol"
    row.context_strategy = {"type": "last_messages", "count": 4}
    row.save()
    publish_agent(row)
    return row
