"""What there is: agents with what they are doing, and tools; agents are made and changed here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from django.http import HttpRequest  # noqa: TC002  ninja evaluates the annotations
from ninja import Header, Router
from ninja.responses import Status as Answer

from agents.actions.save_agent import change_agent, create_agent
from agents.errors import AgentNotFoundError
from agents.metrics import agents_with_metrics
from agents.models import Agent
from heartbit_site.api import agent_forms, forms
from heartbit_site.api.agent_inputs import AgentChangeIn, AgentIn  # noqa: TC001
from heartbit_site.api.auth import READ_AGENTS, WRITE_AGENTS, access_of, workspace_of
from heartbit_site.api.openapi import answers
from heartbit_site.api.outputs import AgentDetailOut, AgentsOut, ToolsOut
from heartbit_site.base import orm
from heartbit_site.base.audit import actor_of
from heartbit_site.contract.model import USUAL, Cursor, Limit, Name, Word
from heartbit_site.operations.paging import page, page_of
from tools.registry import closest, registry

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from heartbit_site.base.models import Workspace

router = Router(tags=["agents"])

IdempotencyKey = Annotated[
    Word | None,
    Header(
        alias="Idempotency-Key",
        description="The same key with the same name makes one agent, however often it is sent.",
    ),
]


@router.get("/agents", auth=READ_AGENTS, response=answers(AgentsOut), summary="List agents")
async def agents(request: HttpRequest, *, cursor: Cursor = None, limit: Limit = USUAL) -> Any:
    """The workspace's published agents by name."""
    workspace = workspace_of(request)

    def read() -> dict[str, Any]:
        rows, following = page(_published(workspace), "name", cursor, limit)
        found = agents_with_metrics(workspace, names=[row.name for row in rows])
        shown = [
            forms.agent(overview, overview.agent.current_version)
            for overview in found
            if overview.agent.current_version is not None
        ]
        return {"agents": shown, "next": following}

    return await orm.in_thread(read)


@router.post(
    "/agents",
    auth=WRITE_AGENTS,
    response={200: AgentDetailOut, **answers(AgentDetailOut, 409, status=201, body=True)},
    summary="Make an agent",
)
async def create(
    request: HttpRequest, body: AgentIn, idempotency_key: IdempotencyKey = None
) -> Any:
    """Make an agent and publish it. 200 instead of 201 when the idempotency key has made it."""
    access = access_of(request)

    def make() -> tuple[bool, dict[str, Any]]:
        key = idempotency_key or None
        row, is_new = create_agent(access.workspace, body, by=actor_of(access), key=key)
        return is_new, _detail(access.workspace, row.name)

    is_new, made = await orm.in_thread(make)
    return Answer(201 if is_new else 200, made)


@router.get(
    "/agents/{name}", auth=READ_AGENTS, response=answers(AgentDetailOut, 404), summary="An agent"
)
async def agent(request: HttpRequest, name: Name) -> Any:
    """An agent, what it is doing, and everything that may be edited."""
    workspace = workspace_of(request)
    return await orm.in_thread(lambda: _detail(workspace, name))


@router.patch(
    "/agents/{name}",
    auth=WRITE_AGENTS,
    response=answers(AgentDetailOut, 404, 409, body=True),
    summary="Change an agent",
)
async def change(request: HttpRequest, name: Name, body: AgentChangeIn) -> Any:
    """What is given is changed, and published: runs from now on use it.

    `version` says which version you know: 409 when another one is current by now.
    """
    access = access_of(request)

    def save() -> dict[str, Any]:
        by = actor_of(access)
        given = body.model_fields_set - {"version"}
        row = change_agent(access.workspace, name, body, given, by=by, version=body.version)
        return _detail(access.workspace, row.name)

    return await orm.in_thread(save)


@router.get("/tools", auth=READ_AGENTS, response=answers(ToolsOut), summary="List tools")
async def tools(request: HttpRequest, *, cursor: Cursor = None, limit: Limit = USUAL) -> Any:
    """The tools that the installation has, by name."""
    specs, following = page_of(registry, str, cursor, limit)
    return {"tools": [forms.tool(spec) for spec in specs], "next": following}


def _published(workspace: Workspace) -> QuerySet[Agent]:
    """The agents that people edit, stopped ones too, that can have runs."""
    return Agent.objects.filter(workspace=workspace, origin="", current_version__isnull=False)


def _detail(workspace: Workspace, name: str) -> dict[str, Any]:
    for overview in agents_with_metrics(workspace, names=[name]):
        if overview.agent.current_version is not None:
            return agent_forms.detail(overview, overview.agent.current_version)
    near = closest(name, list(_published(workspace).values_list("name", flat=True)))
    hint = f"did you mean {near[0]}?" if near else "GET /agents lists them."
    raise AgentNotFoundError(f"There is no agent named {name!r}: {hint}")
