"""What is held back: queues, workspaces, tools, everything. The kill switch, and its end."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest  # noqa: TC002  ninja evaluates the annotations
from ninja import Path, Router

from agents import pauses
from agents.actions.pause_work import pause_work
from agents.actions.resume_work import resume_work
from heartbit_site.api import fleet_forms
from heartbit_site.api.auth import MANAGE, OPERATE, access_of, workspace_of
from heartbit_site.api.fleet_inputs import PauseIn  # noqa: TC001  ninja evaluates the annotations
from heartbit_site.api.fleet_outputs import HeldOut
from heartbit_site.api.openapi import answers
from heartbit_site.base import orm
from heartbit_site.base.access import NoWorkspaceError
from heartbit_site.base.audit import actor_of
from heartbit_site.base.models import Workspace
from heartbit_site.contract.model import Name

router = Router(tags=["operation"])

QueueName = Annotated[Name, Path(min_length=1, description="As `GET /fleet` names it.")]
Slug = Annotated[Name, Path(min_length=1, description="The workspace's short name.")]
ToolName = Annotated[Name, Path(min_length=1, description="As `GET /tools` lists it.")]


@router.post(
    "/fleet/queues/{queue}/pause",
    auth=OPERATE,
    response=answers(HeldOut, body=True),
    summary="Pause a queue",
)
async def pause_queue(request: HttpRequest, queue: QueueName, body: PauseIn) -> Any:
    """Nothing is claimed from it until it is resumed; what is at work goes on."""
    return await orm.in_thread(lambda: _hold(request, pauses.queue(queue), body.reason))


@router.post(
    "/fleet/queues/{queue}/resume",
    auth=OPERATE,
    response=answers(HeldOut),
    summary="Resume a queue",
)
async def resume_queue(request: HttpRequest, queue: QueueName) -> Any:
    """Its workers are told at once."""
    return await orm.in_thread(lambda: _free(request, pauses.queue(queue)))


@router.post(
    "/fleet/halt", auth=OPERATE, response=answers(HeldOut, body=True), summary="Stop everything"
)
async def halt(request: HttpRequest, body: PauseIn) -> Any:
    """No run starts in any workspace, and what is at work is handed back; nothing is lost."""
    return await orm.in_thread(lambda: _hold(request, pauses.EVERYTHING, body.reason))


@router.post(
    "/fleet/continue", auth=OPERATE, response=answers(HeldOut), summary="End a stop of everything"
)
async def go_on(request: HttpRequest) -> Any:
    """What was handed back goes on where it was; workspaces that were stopped stay so."""
    return await orm.in_thread(lambda: _free(request, pauses.EVERYTHING))


@router.post(
    "/fleet/workspaces/{slug}/halt",
    auth=OPERATE,
    response=answers(HeldOut, 404, body=True),
    summary="Stop any workspace",
)
async def halt_any(request: HttpRequest, slug: Slug, body: PauseIn) -> Any:
    """As for everything, in one workspace of the installation."""
    return await orm.in_thread(lambda: _hold(request, _named(slug), body.reason))


@router.post(
    "/fleet/workspaces/{slug}/continue",
    auth=OPERATE,
    response=answers(HeldOut, 404),
    summary="End any workspace's stop",
)
async def go_on_any(request: HttpRequest, slug: Slug) -> Any:
    """What was handed back goes on where it was; the workspace's own stop is ended too."""
    return await orm.in_thread(lambda: _free(request, _named(slug)))


@router.post(
    "/fleet/tools/{tool}/halt",
    auth=OPERATE,
    response=answers(HeldOut, 404, body=True),
    summary="Stop a tool",
)
async def halt_tool(request: HttpRequest, tool: ToolName, body: PauseIn) -> Any:
    """No call of it is run in any workspace: models are told so, and their runs go on."""
    return await orm.in_thread(lambda: _hold(request, pauses.of_tool(tool), body.reason))


@router.post(
    "/fleet/tools/{tool}/continue",
    auth=OPERATE,
    response=answers(HeldOut, 404),
    summary="End a tool's stop",
)
async def go_on_tool(request: HttpRequest, tool: ToolName) -> Any:
    """It may be called again, but where a workspace has stopped it for itself."""
    return await orm.in_thread(lambda: _free(request, pauses.of_tool(tool)))


@router.post(
    "/fleet/workspaces/{slug}/tools/{tool}/halt",
    auth=OPERATE,
    response=answers(HeldOut, 404, body=True),
    summary="Stop a tool in any workspace",
)
async def halt_tool_of_any(request: HttpRequest, slug: Slug, tool: ToolName, body: PauseIn) -> Any:
    """No call of it is run there: models are told so, and their runs go on."""
    return await orm.in_thread(
        lambda: _hold(request, pauses.of_tool(tool, _workspace(slug)), body.reason)
    )


@router.post(
    "/fleet/workspaces/{slug}/tools/{tool}/continue",
    auth=OPERATE,
    response=answers(HeldOut, 404),
    summary="End a tool's stop in any workspace",
)
async def go_on_tool_of_any(request: HttpRequest, slug: Slug, tool: ToolName) -> Any:
    """It may be called there again, unless it is stopped everywhere; the own stop is ended too."""
    return await orm.in_thread(lambda: _free(request, pauses.of_tool(tool, _workspace(slug))))


@router.post(
    "/workspace/tools/{tool}/halt",
    auth=MANAGE,
    response=answers(HeldOut, 404, body=True),
    summary="Stop a tool in the workspace",
)
async def halt_tool_here(request: HttpRequest, tool: ToolName, body: PauseIn) -> Any:
    """No call of it is run in the workspace: models are told so, and their runs go on."""
    workspace = workspace_of(request)
    return await orm.in_thread(
        lambda: _hold(request, pauses.of_tool(tool, workspace), body.reason, by_operator=False)
    )


@router.post(
    "/workspace/tools/{tool}/continue",
    auth=MANAGE,
    response=answers(HeldOut, 404),
    summary="End a tool's stop in the workspace",
)
async def go_on_tool_here(request: HttpRequest, tool: ToolName) -> Any:
    """It may be called again; a stop that an operator placed only operators end (403)."""
    workspace = workspace_of(request)
    return await orm.in_thread(
        lambda: _free(request, pauses.of_tool(tool, workspace), by_operator=False)
    )


@router.post(
    "/workspace/halt",
    auth=MANAGE,
    response=answers(HeldOut, body=True),
    summary="Stop the workspace",
)
async def halt_workspace(request: HttpRequest, body: PauseIn) -> Any:
    """No run starts in it, and what is at work is handed back; nothing is lost."""
    held = pauses.of_workspace(workspace_of(request))
    return await orm.in_thread(lambda: _hold(request, held, body.reason, by_operator=False))


@router.post("/workspace/continue", auth=MANAGE, response=answers(HeldOut), summary="End the stop")
async def go_on_workspace(request: HttpRequest) -> Any:
    """What was handed back goes on; a stop that an operator placed only operators end (403)."""
    held = pauses.of_workspace(workspace_of(request))
    return await orm.in_thread(lambda: _free(request, held, by_operator=False))


def _named(slug: str) -> pauses.Held:
    return pauses.of_workspace(_workspace(slug))


def _workspace(slug: str) -> Workspace:
    workspace = Workspace.objects.filter(slug=slug).first()
    if workspace is None:
        raise NoWorkspaceError(f"There is no workspace {slug}.")
    return workspace


def _hold(
    request: HttpRequest, held: pauses.Held, reason: str, *, by_operator: bool = True
) -> dict[str, Any]:
    by = actor_of(access_of(request))
    changed = pause_work(held, by=by, reason=reason, by_operator=by_operator)
    return fleet_forms.held(held, now=True, changed=changed)


def _free(request: HttpRequest, held: pauses.Held, *, by_operator: bool = True) -> dict[str, Any]:
    changed = resume_work(held, by=actor_of(access_of(request)), by_operator=by_operator)
    return fleet_forms.held(held, now=pauses.rows_of(held).exists(), changed=changed)
