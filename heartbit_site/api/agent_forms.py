"""Agents as JSON, with everything that may be edited, as requests have it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heartbit_site.api import forms
from heartbit_site.config.definition import FIELDS
from heartbit_site.config.rows import BINDING

if TYPE_CHECKING:
    from agents.metrics import AgentOverview
    from agents.models import Agent, AgentVersion


def detail(overview: AgentOverview, version: AgentVersion) -> dict[str, Any]:
    """An agent with what it is doing, and what it is."""
    return {**forms.agent(overview, version), "definition": definition(overview.agent)}


def definition(agent: Agent) -> dict[str, Any]:
    """What people edit: a request with it changes nothing."""
    columns = {name: getattr(agent, name) for name in FIELDS}
    columns["max_run_cost_usd"] = forms.money(agent.max_run_cost_usd)
    tools = [
        {"name": binding.tool, **{name: getattr(binding, name) for name in BINDING}}
        for binding in agent.bindings.order_by("tool")
    ]
    team = list(agent.team.order_by("name").values_list("name", flat=True))
    return {"name": agent.name, **columns, "tools": tools, "team": team}
