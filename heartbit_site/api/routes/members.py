"""Who belongs to the workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from django.contrib.auth.models import User
from django.http import HttpRequest  # noqa: TC002  ninja evaluates the annotations
from ninja import Path, Router
from ninja.responses import Status as Answer

from heartbit_site.api import identity_forms
from heartbit_site.api.auth import MANAGE, access_of, workspace_of
from heartbit_site.api.identity_inputs import MemberIn, RoleIn  # noqa: TC001
from heartbit_site.api.identity_outputs import MemberOut, MembersOut
from heartbit_site.api.openapi import answers
from heartbit_site.base import orm
from heartbit_site.base.actions.remove_member import MemberNotFoundError, remove_member
from heartbit_site.base.actions.save_member import save_member
from heartbit_site.base.audit import actor_of
from heartbit_site.base.errors import ConflictError, NotFoundError
from heartbit_site.base.models import Membership
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.operations.paging import page

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace

router = Router(tags=["identity"])

Username = Annotated[Word, Path(description="As they log in.")]


class UserNotFoundError(NotFoundError):
    """Nobody has an account with that name."""


class AlreadyMemberError(ConflictError):
    """They belong to the workspace by now."""


@router.get("/members", auth=MANAGE, response=answers(MembersOut), summary="List members")
async def members(request: HttpRequest, *, cursor: Cursor = None, limit: Limit = USUAL) -> Any:
    """The workspace's members, the last who joined first; superusers need no membership."""
    workspace = workspace_of(request)

    def read() -> dict[str, Any]:
        rows = Membership.objects.filter(workspace=workspace).select_related("user")
        found, following = page(rows, "-pk", cursor, limit)
        return {"members": [identity_forms.member(row) for row in found], "next": following}

    return await orm.in_thread(read)


@router.post(
    "/members",
    auth=MANAGE,
    response=answers(MemberOut, 409, status=201, body=True),
    summary="Add a member",
)
async def add(request: HttpRequest, body: MemberIn) -> Any:
    """Somebody with an account, by their name; 409 when they belong to the workspace already."""
    access = access_of(request)

    def make() -> dict[str, Any]:
        user = User.objects.filter(username=body.username).first()
        if user is None:
            raise UserNotFoundError(
                f"There is no account {body.username[:60]!r}: a superuser makes one in the admin."
            )
        if Membership.objects.filter(workspace=access.workspace, user=user).exists():
            raise AlreadyMemberError(
                f"{user.get_username()} is a member already: PATCH changes what they may do."
            )
        return identity_forms.member(
            save_member(access.workspace, user, body.role, by=actor_of(access))
        )

    return Answer(201, await orm.in_thread(make))


@router.patch(
    "/members/{username}",
    auth=MANAGE,
    response=answers(MemberOut, 409, body=True),
    summary="Change a member's role",
)
async def change(request: HttpRequest, username: Username, body: RoleIn) -> Any:
    """It counts at once, also for their keys; 409 when they are the only admin."""
    access = access_of(request)

    def save() -> dict[str, Any]:
        user = _find(access.workspace, username).user
        return identity_forms.member(
            save_member(access.workspace, user, body.role, by=actor_of(access))
        )

    return await orm.in_thread(save)


@router.delete(
    "/members/{username}",
    auth=MANAGE,
    response=answers(None, 409, status=204),
    summary="Remove a member",
)
async def remove(request: HttpRequest, username: Username) -> Any:
    """Their keys here end with it; 409 when they are the only admin."""
    access = access_of(request)

    def leave() -> None:
        user = _find(access.workspace, username).user
        remove_member(access.workspace, user, by=actor_of(access))

    await orm.in_thread(leave)
    return Answer(204, None)


def _find(workspace: Workspace, username: str) -> Membership:
    rows = Membership.objects.select_related("user")
    row = rows.filter(workspace=workspace, user__username=username).first()
    if row is None:
        raise MemberNotFoundError(
            f"{username[:60]!r} is no member of {workspace.slug}: GET /members lists them."
        )
    return row
