"""What is held back: queues, workspaces, tools, everything. The kill switch, and its end."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from agents import pauses
from agents.actions.pause_work import pause_work
from agents.actions.resume_work import resume_work
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.contract.model import Name
from heartbit_site.contract.pauses import HeldOut, PauseIn
from heartbit_site.workspaces import find_workspace

Queue = Annotated[Name, Field(min_length=1, description="As `GET /fleet` names it.")]
Slug = Annotated[Name, Field(min_length=1, description="The workspace's short name.")]
Tool = Annotated[Name, Field(min_length=1, description="As `GET /tools` lists it.")]


def pause_queue(access: Access, queue: Queue, body: PauseIn) -> HeldOut:
    """Nothing is claimed from it until it is resumed; what is at work goes on."""
    return _hold(access, pauses.queue(queue), body, by_operator=True)


def resume_queue(access: Access, queue: Queue) -> HeldOut:
    """Its workers are told at once."""
    return _free(access, pauses.queue(queue), by_operator=True)


def halt_everything(access: Access, body: PauseIn) -> HeldOut:
    """No run starts in any workspace, and what is at work is handed back; nothing is lost."""
    return _hold(access, pauses.EVERYTHING, body, by_operator=True)


def continue_everything(access: Access) -> HeldOut:
    """What was handed back goes on where it was; workspaces that were stopped stay so."""
    return _free(access, pauses.EVERYTHING, by_operator=True)


def halt_any_workspace(access: Access, slug: Slug, body: PauseIn) -> HeldOut:
    """As for everything, in one workspace of the installation."""
    return _hold(access, pauses.of_workspace(find_workspace(slug)), body, by_operator=True)


def continue_any_workspace(access: Access, slug: Slug) -> HeldOut:
    """What was handed back goes on where it was; the workspace's own stop is ended too."""
    return _free(access, pauses.of_workspace(find_workspace(slug)), by_operator=True)


def halt_tool(access: Access, tool: Tool, body: PauseIn) -> HeldOut:
    """No call of it is run in any workspace: models are told so, and their runs go on."""
    return _hold(access, pauses.of_tool(tool), body, by_operator=True)


def continue_tool(access: Access, tool: Tool) -> HeldOut:
    """It may be called again, but where a workspace has stopped it for itself."""
    return _free(access, pauses.of_tool(tool), by_operator=True)


def halt_tool_in_any_workspace(access: Access, slug: Slug, tool: Tool, body: PauseIn) -> HeldOut:
    """No call of it is run there: models are told so, and their runs go on."""
    return _hold(access, pauses.of_tool(tool, find_workspace(slug)), body, by_operator=True)


def continue_tool_in_any_workspace(access: Access, slug: Slug, tool: Tool) -> HeldOut:
    """It may be called there again, unless it is stopped everywhere; the own stop is ended too."""
    return _free(access, pauses.of_tool(tool, find_workspace(slug)), by_operator=True)


def halt_workspace(access: Access, body: PauseIn) -> HeldOut:
    """No run starts in it, and what is at work is handed back; nothing is lost."""
    return _hold(access, pauses.of_workspace(access.workspace), body, by_operator=False)


def continue_workspace(access: Access) -> HeldOut:
    """What was handed back goes on; a stop that an operator placed only operators end (403)."""
    return _free(access, pauses.of_workspace(access.workspace), by_operator=False)


def halt_tool_in_workspace(access: Access, tool: Tool, body: PauseIn) -> HeldOut:
    """No call of it is run in the workspace: models are told so, and their runs go on."""
    return _hold(access, pauses.of_tool(tool, access.workspace), body, by_operator=False)


def continue_tool_in_workspace(access: Access, tool: Tool) -> HeldOut:
    """It may be called again; a stop that an operator placed only operators end (403)."""
    return _free(access, pauses.of_tool(tool, access.workspace), by_operator=False)


def _hold(access: Access, found: pauses.Held, body: PauseIn, *, by_operator: bool) -> HeldOut:
    changed = pause_work(found, by=actor_of(access), reason=body.reason, by_operator=by_operator)
    return _view(found, held=True, changed=changed)


def _free(access: Access, found: pauses.Held, *, by_operator: bool) -> HeldOut:
    changed = resume_work(found, by=actor_of(access), by_operator=by_operator)
    return _view(found, held=pauses.rows_of(found).exists(), changed=changed)


def _view(found: pauses.Held, *, held: bool, changed: bool) -> HeldOut:
    slug = found.workspace.slug if found.workspace is not None else ""
    return HeldOut(
        kind=found.kind.value,
        name=found.queue or found.tool or slug,
        workspace=slug if found.tool else "",
        held=held,
        changed=changed,
    )
