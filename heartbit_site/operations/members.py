"""Members of the workspace and their roles."""

from __future__ import annotations

from django.contrib.auth.models import User

from heartbit_site.base.access import Access
from heartbit_site.base.actions import members
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
    """Return the workspace's members, the newest first; superusers need no membership."""
    rows = Membership.objects.filter(workspace=access.workspace).select_related("user")
    return list_page(MembersOut, rows, "-pk", cursor, limit, _shown)


def add_member(access: Access, body: MemberIn) -> MemberOut:
    """Add a person by user name; 409 if they are already a member."""
    user = User.objects.filter(username=body.username).first()
    if user is None:
        raise UserNotFoundError(
            f"There is no account {body.username[:60]!r}: a superuser creates one in the admin."
        )
    if Membership.objects.filter(workspace=access.workspace, user=user).exists():
        raise AlreadyMemberError(
            f"{user.get_username()} is already a member: PATCH changes the role."
        )
    return _shown(members.save_member(access.workspace, user, body.role, by=actor_of(access)))


def change_member(access: Access, username: Username, body: RoleIn) -> MemberOut:
    """Change a role, also for the member's keys, at once; 409 for the only admin."""
    user = _find(access.workspace, username).user
    return _shown(members.save_member(access.workspace, user, body.role, by=actor_of(access)))


def remove_member(access: Access, username: Username) -> None:
    """Remove a member and their keys for the workspace; 409 for the only admin."""
    user = _find(access.workspace, username).user
    members.remove_member(access.workspace, user, by=actor_of(access))


def _shown(row: Membership) -> MemberOut:
    return MemberOut.of(row, name=row.user.get_full_name())


def _find(workspace: Workspace, username: str) -> Membership:
    rows = Membership.objects.select_related("user")
    missing = members.MemberNotFoundError(
        f"{username[:60]!r} is not a member of {workspace.slug}.",
        remedy=Remedy("members.list_members"),
    )
    return find_row(rows.filter(workspace=workspace, user__username=username), missing)
