"""Pauses of queues; halts of workspaces and of everything; disabled tools."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from agents.actions.fleet import pause_work, resume_work
from agents.limits import pauses
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.contract.model import Name
from heartbit_site.contract.pauses import PauseIn, PauseStateOut
from heartbit_site.workspaces import find_workspace

Queue = Annotated[Name, Field(min_length=1, description="Name of the queue, as in `GET /fleet`.")]
Slug = Annotated[Name, Field(min_length=1, description="Short name of the workspace.")]
Tool = Annotated[Name, Field(min_length=1, description="Name of the tool, as in `GET /tools`.")]


def pause_queue(access: Access, queue: Queue, body: PauseIn) -> PauseStateOut:
    """Pause a queue: no run is claimed from it until it is resumed.

    Running runs continue for about a minute, to the end of a turn; then they wait in the queue.
    """
    return _hold(access, pauses.queue(queue), body, by_operator=True)


def resume_queue(access: Access, queue: Queue) -> PauseStateOut:
    """Resume a queue and notify its workers."""
    return _free(access, pauses.queue(queue), by_operator=True)


def halt_everything(access: Access, body: PauseIn) -> PauseStateOut:
    """Halt everything: no run starts, and running runs are requeued; nothing is lost."""
    return _hold(access, pauses.EVERYTHING, body, by_operator=True)


def resume_everything(access: Access) -> PauseStateOut:
    """End the halt of everything: runs resume; halted workspaces remain halted."""
    return _free(access, pauses.EVERYTHING, by_operator=True)


def halt_any_workspace(access: Access, slug: Slug, body: PauseIn) -> PauseStateOut:
    """Halt one workspace: no run starts, and running runs are requeued; nothing is lost."""
    return _hold(access, pauses.of_workspace(find_workspace(slug)), body, by_operator=True)


def resume_any_workspace(access: Access, slug: Slug) -> PauseStateOut:
    """End every halt of a workspace, its own included: runs resume where they stopped."""
    return _free(access, pauses.of_workspace(find_workspace(slug)), by_operator=True)


def disable_tool(access: Access, tool: Tool, body: PauseIn) -> PauseStateOut:
    """Refuse calls of a tool in every workspace: models read why, and their runs continue."""
    return _hold(access, pauses.of_tool(tool), body, by_operator=True)


def enable_tool(access: Access, tool: Tool) -> PauseStateOut:
    """Allow calls of a tool again, except in workspaces that disabled it themselves."""
    return _free(access, pauses.of_tool(tool), by_operator=True)


def disable_tool_in_any_workspace(
    access: Access, slug: Slug, tool: Tool, body: PauseIn
) -> PauseStateOut:
    """Refuse calls of a tool in one workspace: models read why, and their runs continue."""
    return _hold(access, pauses.of_tool(tool, find_workspace(slug)), body, by_operator=True)


def enable_tool_in_any_workspace(access: Access, slug: Slug, tool: Tool) -> PauseStateOut:
    """Allow calls of a tool in one workspace again, unless it is disabled everywhere."""
    return _free(access, pauses.of_tool(tool, find_workspace(slug)), by_operator=True)


def halt_workspace(access: Access, body: PauseIn) -> PauseStateOut:
    """Halt the workspace: no run starts, and running ones are requeued; nothing is lost."""
    return _hold(access, pauses.of_workspace(access.workspace), body, by_operator=False)


def resume_workspace(access: Access) -> PauseStateOut:
    """End the workspace's halt: runs resume. 403 for a halt that an operator placed."""
    return _free(access, pauses.of_workspace(access.workspace), by_operator=False)


def disable_tool_in_workspace(access: Access, tool: Tool, body: PauseIn) -> PauseStateOut:
    """Refuse calls of a tool in the workspace: models read why, and their runs continue."""
    return _hold(access, pauses.of_tool(tool, access.workspace), body, by_operator=False)


def enable_tool_in_workspace(access: Access, tool: Tool) -> PauseStateOut:
    """Allow calls of a tool again; 403 if an operator disabled it."""
    return _free(access, pauses.of_tool(tool, access.workspace), by_operator=False)


def _hold(
    access: Access, found: pauses.PauseTarget, body: PauseIn, *, by_operator: bool
) -> PauseStateOut:
    changed = pause_work(found, by=actor_of(access), reason=body.reason, by_operator=by_operator)
    return PauseStateOut.of(found, kind=found.kind.value, paused=True, changed=changed)


def _free(access: Access, found: pauses.PauseTarget, *, by_operator: bool) -> PauseStateOut:
    changed = resume_work(found, by=actor_of(access), by_operator=by_operator)
    held = pauses.find_pauses(found).exists()
    return PauseStateOut.of(found, kind=found.kind.value, paused=held, changed=changed)
