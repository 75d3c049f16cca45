"""Members: who belongs to the workspace, and what they may do there."""

from __future__ import annotations

from django.contrib.auth.models import User

from heartbit_site.base.access import Access
from heartbit_site.base.actions import remove_member as removing
from heartbit_site.base.actions.save_member import save_member
from heartbit_site.base.audit import actor_of
from heartbit_site.base.errors import ConflictError, NotFoundError, Remedy
from heartbit_site.base.models import Membership, Workspace
from heartbit_site.contract.members import MemberIn, MemberOut, MembersOut, RoleIn, Username
from heartbit_site.contract.model import USUAL, Cursor, Limit
from heartbit_site.operations.paging import find_row, list_page


class UserNotFoundError(NotFoundError):
    """No account has that name."""


class AlreadyMemberError(ConflictError):
    """The person is already a member of the workspace."""


def list_members(access: Access, *, cursor: Cursor = None, limit: Limit = USUAL) -> MembersOut:
    """Return the workspace's members, the last who joined first; superusers need no membership."""
    rows = Membership.objects.filter(workspace=access.workspace).select_related("user")
    return list_page(MembersOut, rows, "-pk", cursor, limit, _shown)


def add_member(access: Access, body: MemberIn) -> MemberOut:
    """Add a person by the name of their account; 409 when they are a member already."""
    user = User.objects.filter(username=body.username).first()
    if user is None:
        raise UserNotFoundError(
            f"There is no account {body.username[:60]!r}: a superuser makes one in the admin."
        )
    if Membership.objects.filter(workspace=access.workspace, user=user).exists():
        raise AlreadyMemberError(
            f"{user.get_username()} is a member already: PATCH changes what they may do."
        )
    return _shown(save_member(access.workspace, user, body.role, by=actor_of(access)))


def change_member(access: Access, username: Username, body: RoleIn) -> MemberOut:
    """Change a role at once, also for the member's keys; 409 when they are the only admin."""
    user = _find(access.workspace, username).user
    return _shown(save_member(access.workspace, user, body.role, by=actor_of(access)))


def remove_member(access: Access, username: Username) -> None:
    """Remove a member and their keys here; 409 when they are the only admin."""
    user = _find(access.workspace, username).user
    removing.remove_member(access.workspace, user, by=actor_of(access))


def _shown(row: Membership) -> MemberOut:
    return MemberOut.of(row, name=row.user.get_full_name())


def _find(workspace: Workspace, username: str) -> Membership:
    rows = Membership.objects.select_related("user")
    missing = removing.MemberNotFoundError(
        f"{username[:60]!r} is no member of {workspace.slug}.",
        remedy=Remedy("members.list_members"),
    )
    return find_row(rows.filter(workspace=workspace, user__username=username), missing)
