"""The versions of agents: list, look, compare, roll back."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest  # noqa: TC002  ninja evaluates the annotations
from ninja import Path, Query, Router

from agents.actions.rollback_agent import rollback_agent
from agents.versions import find_editable, find_version, with_runs
from heartbit_site.api import past_forms
from heartbit_site.api.auth import READ_AGENTS, WRITE_AGENTS, access_of, workspace_of
from heartbit_site.api.openapi import answers
from heartbit_site.api.past_inputs import RollbackIn  # noqa: TC001
from heartbit_site.api.past_outputs import DiffOut, RolledBackOut, VersionDetailOut, VersionsOut
from heartbit_site.base import orm
from heartbit_site.base.audit import actor_of
from heartbit_site.contract.model import USUAL, Cursor, Limit, Name
from heartbit_site.operations.paging import page

router = Router(tags=["agents"])

Number = Annotated[int, Path(ge=1, le=2**31 - 1)]
Older = Annotated[
    int | None, Query(ge=1, le=2**31 - 1, description="None: the one before the newer.")
]
Newer = Annotated[int | None, Query(ge=1, le=2**31 - 1, description="None: the current one.")]


@router.get(
    "/agents/{name}/versions",
    auth=READ_AGENTS,
    response=answers(VersionsOut, 404),
    summary="An agent's versions",
)
async def versions(
    request: HttpRequest, name: Name, *, cursor: Cursor = None, limit: Limit = USUAL
) -> Any:
    """What was published of an agent, the newest first."""
    workspace = workspace_of(request)

    def read() -> dict[str, Any]:
        agent = find_editable(workspace, name)
        rows, following = page(agent.versions.all(), "-number", cursor, limit)
        return {**past_forms.versions(agent, with_runs(rows)), "next": following}

    return await orm.in_thread(read)


@router.get(
    "/agents/{name}/versions/diff",
    auth=READ_AGENTS,
    response=answers(DiffOut, 404),
    summary="Compare versions",
)
async def diff(
    request: HttpRequest, name: Name, *, older: Older = None, newer: Newer = None
) -> Any:
    """What changed between two versions; by default with the current one."""
    workspace = workspace_of(request)

    return await orm.in_thread(
        lambda: past_forms.diff(find_editable(workspace, name), older, newer)
    )


@router.get(
    "/agents/{name}/versions/{number}",
    auth=READ_AGENTS,
    response=answers(VersionDetailOut, 404),
    summary="A version",
)
async def version(request: HttpRequest, name: Name, number: Number) -> Any:
    """A version with its content."""
    workspace = workspace_of(request)

    def read() -> dict[str, Any]:
        agent = find_editable(workspace, name)
        found = find_version(agent, number)
        row = past_forms.version_row(agent, found, found.runs.count())
        return {**row, "agent": agent.name, "snapshot": found.snapshot}

    return await orm.in_thread(read)


@router.post(
    "/agents/{name}/versions/{number}/rollback",
    auth=WRITE_AGENTS,
    response=answers(RolledBackOut, 404, 409, body=True),
    summary="Roll back",
)
async def rollback(request: HttpRequest, name: Name, number: Number, body: RollbackIn) -> Any:
    """Make an earlier version what the agent is; runs stay with the version they began with."""
    access = access_of(request)

    def restore() -> dict[str, Any]:
        agent = find_editable(access.workspace, name)
        done = rollback_agent(agent, number, by=actor_of(access), anyway=body.anyway)
        return past_forms.rolled_back(agent, done)

    return await orm.in_thread(restore)
