"""Add members to a workspace, change their roles, and remove them."""

from __future__ import annotations

from django.db import transaction

from heartbit_site.base.actions.api_keys import revoke_api_keys
from heartbit_site.base.audit import Actor, record_person
from heartbit_site.base.errors import ConfigurationError, ConflictError, NotFoundError, Remedy
from heartbit_site.base.models import ApiKey, Membership, Role, Workspace
from heartbit_site.base.people import User
from heartbit_site.base.rights import require


class LastAdminError(ConflictError):
    """Without this member the workspace would have no admin."""


def check_role(role: str) -> None:
    """Refuse a role that does not exist.

    Raises:
        ConfigurationError: There is no such role.
    """
    if role not in Role.values:
        raise ConfigurationError(f"There is no role {role[:40]!r}: use {', '.join(Role.values)}.")


def save_member(workspace: Workspace, user: User, role: str, *, by: Actor) -> Membership:
    """Give a user a role in a workspace; open sockets and streams follow within seconds.

    Args:
        workspace: The workspace.
        user: A user whose account is active.
        role: One of ``Role``.
        by: Author, for the audit.

    Raises:
        ConfigurationError: There is no such role, or the account is closed.
        LastAdminError: The user is the only admin and would lose that role.
    """
    require(by, "workspace:manage", workspace_id=workspace.pk)
    check_role(role)
    if not user.is_active:
        raise ConfigurationError(f"The account {user.get_username()} is closed: reopen it first.")
    with transaction.atomic():
        present = locked_members(workspace).get(user.pk)
        if present is not None and present.role == role:
            return present
        if present is None:
            saved = Membership.objects.create(workspace=workspace, user=user, role=role)
            action, details = "member.add", {"role": role}
        else:
            keep_an_admin(workspace, present)
            action, details = "member.change", {"role": role, "before": present.role}
            saved, saved.role = present, role
            saved.save(update_fields=["role"])
        record_person(by, action, user, workspace, details)
    return saved


def locked_members(workspace: Workspace) -> dict[int, Membership]:
    """Return the workspace's members by user id, locked against other changes of members."""
    Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
    return {row.user_id: row for row in Membership.objects.filter(workspace=workspace)}


def keep_an_admin(workspace: Workspace, member: Membership) -> None:
    """Refuse to lose the last admin: no one could add members afterwards.

    Raises:
        LastAdminError: The member is the only admin.
    """
    if member.role != Role.ADMIN or not member.user.is_active:
        return
    admins = Membership.objects.filter(workspace=workspace, role=Role.ADMIN, user__is_active=True)
    if not admins.exclude(pk=member.pk).exists():
        raise LastAdminError(
            f"{member.user.get_username()} is the only admin of {workspace.slug}: make another "
            "member an admin first."
        )


class MemberNotFoundError(NotFoundError):
    """The user does not belong to the workspace."""


def remove_member(workspace: Workspace, user: User, *, by: Actor) -> None:
    """End a membership, and the API keys that the person created in the workspace.

    Rows that the person created stay, with their name. Their sockets and streams end within
    seconds.

    Args:
        workspace: The workspace.
        user: The member.
        by: Author, for the audit.

    Raises:
        MemberNotFoundError: The user is not a member.
        LastAdminError: The user is the only admin.
    """
    require(by, "workspace:manage", workspace_id=workspace.pk)
    with transaction.atomic():
        present = locked_members(workspace).get(user.pk)
        if present is None:
            raise MemberNotFoundError(
                f"{user.get_username()} is not a member of {workspace.slug}.",
                remedy=Remedy("members.list_members"),
            )
        keep_an_admin(workspace, present)
        present.delete()
        keys = ApiKey.objects.filter(workspace=workspace, user=user)
        ended = revoke_api_keys(keys.values_list("pk", flat=True), by=by)
        details = {"role": present.role, "keys_revoked": ended}
        record_person(by, "member.remove", user, workspace, details)
