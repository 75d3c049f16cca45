"""``/v1/models``: the agents and workflows that take runs."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase

from agents.models import Agent
from agents.reads.agents import find_agent
from heartbit_site.base import orm
from heartbit_site.base.access import Access
from heartbit_site.doors.openai.door import Opened, door
from heartbit_site.doors.runs import takers


@door("GET", "agents:read")
async def list_models(request: HttpRequest, opened: Opened) -> HttpResponseBase:
    """Return the models of the caller's workspace."""
    found = await orm.run_in_thread(lambda: _models(opened()))
    return JsonResponse({"object": "list", "data": found})


@door("GET", "agents:read")
async def show_model(request: HttpRequest, opened: Opened, name: str) -> HttpResponseBase:
    """Return a model by its name."""
    found = await orm.run_in_thread(lambda: _model(find_agent(opened().workspace, name)))
    return JsonResponse(found)


def _models(access: Access) -> list[dict[str, Any]]:
    return [_model(row) for row in takers(access).select_related("workspace")]


def _model(agent: Agent) -> dict[str, Any]:
    return {
        "id": agent.name,
        "object": "model",
        "created": int(agent.created_at.timestamp()),
        "owned_by": agent.workspace.slug,
        "description": agent.description,
    }
