"""Agents as JSON, with everything that may be edited, as requests have it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents.definitions.rows import spec_of
from heartbit_site.api import forms

if TYPE_CHECKING:
    from agents.metrics import AgentOverview
    from agents.models import Agent, AgentVersion


def detail(overview: AgentOverview, version: AgentVersion) -> dict[str, Any]:
    """An agent with what it is doing, and what it is."""
    return {**forms.agent(overview, version), "definition": definition(overview.agent)}


def definition(agent: Agent) -> dict[str, Any]:
    """What people edit: a request with it changes nothing."""
    found = spec_of(agent).model_dump()
    return {**found, "max_run_cost_usd": forms.money(agent.max_run_cost_usd)}
