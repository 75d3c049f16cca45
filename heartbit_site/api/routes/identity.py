"""Who asks, and where they belong."""

from __future__ import annotations

from typing import Any, cast

from django.http import HttpRequest  # noqa: TC002  ninja evaluates the annotations
from ninja import Router

from heartbit_site.api import identity_forms
from heartbit_site.api.auth import MEMBER, PERSON, access_of
from heartbit_site.api.identity_outputs import MeOut, WorkspacesOut
from heartbit_site.api.openapi import answers
from heartbit_site.base import orm
from heartbit_site.base.access import Access, access_of_user, username_of, workspaces_of
from heartbit_site.contract.model import USUAL, Cursor, Limit
from heartbit_site.operations.paging import page, page_of

router = Router(tags=["identity"])


@router.get("/me", auth=MEMBER, response=answers(MeOut), summary="Who asks")
async def me(request: HttpRequest) -> Any:
    """Whoever the key or session is, and what they may do in the workspace; takes no scope."""
    access = access_of(request)
    return {
        "name": access.name,
        "username": await orm.in_thread(lambda: username_of(access)),
        "via": access.via,
        "workspace": identity_forms.workspace(access.workspace, access.scopes),
    }


@router.get("/workspaces", auth=PERSON, response=answers(WorkspacesOut), summary="Workspaces")
async def workspaces(request: HttpRequest, *, cursor: Cursor = None, limit: Limit = USUAL) -> Any:
    """Those that a session's person belongs to, or the one of a key; names no workspace."""
    found = cast("Any", request).auth

    def read() -> dict[str, Any]:
        accesses, following = _of(found, cursor, limit)
        rows = [identity_forms.workspace(one.workspace, one.scopes) for one in accesses]
        return {"workspaces": rows, "next": following}

    return await orm.in_thread(read)


def _of(found: Any, cursor: str | None, limit: int) -> tuple[list[Access], str | None]:
    if isinstance(found, Access):
        return page_of({found.workspace.slug: found}, str, cursor, limit)
    rows, following = page(workspaces_of(found), "slug", cursor, limit)
    return [access_of_user(found, row.slug) for row in rows], following
