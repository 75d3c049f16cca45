"""``/v1/models``: the agents and workflows that take runs."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase

from agents.models import Agent
from agents.reads.agents import find_agent
from heartbit_site.base import orm
from heartbit_site.base.access import Access
from heartbit_site.doors.openai.door import door


@door("GET", "agents:read")
async def list_models(request: HttpRequest, access: Access) -> HttpResponseBase:
    """Return the models of the caller's workspace."""
    rows = Agent.objects.filter(
        workspace=access.workspace, origin="", enabled=True, current_version__isnull=False
    ).order_by("name")
    found = await orm.run_in_thread(lambda: [_model(row) for row in rows])
    return JsonResponse({"object": "list", "data": found})


@door("GET", "agents:read")
async def show_model(request: HttpRequest, access: Access, name: str) -> HttpResponseBase:
    """Return a model by its name."""
    return JsonResponse(await orm.run_in_thread(lambda: _model(find_agent(access.workspace, name))))


def _model(agent: Agent) -> dict[str, Any]:
    return {
        "id": agent.name,
        "object": "model",
        "created": int(agent.created_at.timestamp()),
        "owned_by": agent.workspace.slug,
        "description": agent.description,
    }
