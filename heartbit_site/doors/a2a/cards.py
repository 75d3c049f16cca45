"""Cards of agents: what an agent is called and does, and how it is spoken to."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase

from agents.actions.write_agents import ORCHESTRATOR
from agents.reads.agents import find_agent
from heartbit_site.base import orm
from heartbit_site.base.access import Access
from heartbit_site.base.errors import HeartbitError
from heartbit_site.doors.a2a.errors import defect, refusal
from heartbit_site.doors.keys import access_by_key


async def show_card(request: HttpRequest, agent: str = "") -> HttpResponseBase:
    """Return the card of an agent, or of a workspace: its orchestrator's."""

    def read() -> dict[str, Any]:
        return _card(request, access_by_key(request, ("agents:read",)), agent)

    try:
        card = await orm.run_in_thread(read)
    except HeartbitError as error:
        response = refusal(None, error)
        if response.status_code == 200:
            response.status_code = 404
        return response
    except Exception as error:  # noqa: BLE001  a client gets JSON whatever happens
        return defect(None, request.path, error)
    return JsonResponse(card, headers={"Cache-Control": "private, max-age=60"})


def _card(request: HttpRequest, access: Access, agent: str) -> dict[str, Any]:
    row = find_agent(access.workspace, agent or ORCHESTRATOR)
    version: Any = row.current_version
    team = [(one["name"], one["description"]) for one in version.snapshot.get("team", ())]
    address = request.build_absolute_uri(f"/a2a/{agent}" if agent else "/a2a")
    interface = {"url": address, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    modes = ["text/plain", "application/json"]
    bearer = {"scheme": "Bearer", "description": "A key of the workspace: hb_..."}
    return {
        "name": agent or access.workspace.name,
        "description": row.description or f"The agent {row.name}.",
        "version": str(version.number),
        "provider": {"organization": access.workspace.name, "url": request.build_absolute_uri("/")},
        "supportedInterfaces": [interface],
        "capabilities": {"streaming": True, "pushNotifications": True, "extendedAgentCard": False},
        "securitySchemes": {"bearer": {"httpAuthSecurityScheme": bearer}},
        "securityRequirements": [{"schemes": {"bearer": {"list": []}}}],
        "defaultInputModes": modes,
        "defaultOutputModes": modes,
        "skills": [
            {"id": name, "name": name, "description": about or f"The agent {name}.", "tags": [tag]}
            for (name, about), tag in [
                ((row.name, row.description), row.kind),
                *((one, "team") for one in team),
            ]
        ],
    }
