"""Add a member to a workspace, or change a member's role."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from heartbit_site.base.audit import Actor, record
from heartbit_site.base.errors import ConfigurationError, ConflictError
from heartbit_site.base.models import Membership, Role, Workspace
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
        raise ConfigurationError(f"The account {user.get_username()} is closed: open it first.")
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
        target, label = f"user:{user.pk}", user.get_username()
        record(by, action, workspace=workspace, target=target, label=label, details=details)
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
