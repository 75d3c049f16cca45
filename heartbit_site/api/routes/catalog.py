"""What there is: agents with what they are doing, and tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import HttpRequest  # noqa: TC002  ninja evaluates the annotations
from ninja import Router

from agents.errors import AgentNotFoundError
from agents.metrics import agents_with_metrics
from heartbit_site.api import forms
from heartbit_site.api.auth import READ_AGENTS, workspace_of
from heartbit_site.api.fields import Name  # noqa: TC001  ninja evaluates the annotations
from heartbit_site.api.openapi import answers
from heartbit_site.api.outputs import AgentOut, AgentsOut, ToolsOut
from heartbit_site.base import orm
from tools.registry import closest, registry

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace

router = Router(tags=["agents"])


@router.get("/agents", auth=READ_AGENTS, response=answers(AgentsOut), summary="List agents")
async def agents(request: HttpRequest) -> Any:
    """The workspace's published agents by name."""
    workspace = workspace_of(request)
    return await orm.in_thread(lambda: {"agents": _published(workspace)})


@router.get("/agents/{name}", auth=READ_AGENTS, response=answers(AgentOut, 404), summary="An agent")
async def agent(request: HttpRequest, name: Name) -> Any:
    """An agent, and what it is doing."""
    workspace = workspace_of(request)

    def read() -> dict[str, Any]:
        rows = _published(workspace, name) if name else []
        if not rows:
            near = closest(name, [row["name"] for row in _published(workspace)])
            hint = f"did you mean {near[0]}?" if near else "GET /agents lists them."
            raise AgentNotFoundError(f"There is no agent named {name!r}: {hint}")
        return rows[0]

    return await orm.in_thread(read)


@router.get("/tools", auth=READ_AGENTS, response=answers(ToolsOut), summary="List tools")
async def tools(request: HttpRequest) -> Any:
    """The tools that the installation has."""
    return {"tools": [forms.tool(spec) for _, spec in sorted(registry.items())]}


def _published(workspace: Workspace, name: str = "") -> list[dict[str, Any]]:
    found = agents_with_metrics(workspace, name=name)
    return [
        forms.agent(overview, overview.agent.current_version)
        for overview in found
        if overview.agent.current_version is not None
    ]
