"""Workspaces of the caller; belongs to none of them, so it is not an operation."""

from __future__ import annotations

from typing import Any, cast

from django.http import HttpRequest
from ninja import Router

from heartbit_site.api.auth import PERSON
from heartbit_site.api.openapi import answers
from heartbit_site.base.access import Access, access_of_user, workspaces_of
from heartbit_site.contract.members import WorkspacesOut
from heartbit_site.contract.model import USUAL, Cursor, Limit
from heartbit_site.operations.members import workspace_of
from heartbit_site.operations.paging import page, page_of

router = Router(tags=["identity"])


@router.get(
    "/workspaces",
    auth=PERSON,
    response=answers(WorkspacesOut),
    operation_id="list_workspaces",
    summary="List workspaces",
)
def workspaces(request: HttpRequest, *, cursor: Cursor = None, limit: Limit = USUAL) -> Any:
    """Return the workspaces of a session's person, or the one of a key; takes no workspace."""
    accesses, following = _of(cast("Any", request).auth, cursor, limit)
    return WorkspacesOut(workspaces=[workspace_of(one) for one in accesses], next_cursor=following)


def _of(found: Any, cursor: str | None, limit: int) -> tuple[list[Access], str | None]:
    if isinstance(found, Access):
        return page_of({found.workspace.slug: found}, str, cursor, limit)
    rows, following = page(workspaces_of(found), "slug", cursor, limit)
    return [access_of_user(found, row.slug) for row in rows], following
