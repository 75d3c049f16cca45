"""Remove a member from a workspace."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from heartbit_site.base.actions.revoke_api_key import revoke_api_keys
from heartbit_site.base.actions.save_member import keep_an_admin, locked_members
from heartbit_site.base.audit import Actor, record
from heartbit_site.base.errors import NotFoundError, Remedy
from heartbit_site.base.models import ApiKey, Workspace
from heartbit_site.base.rights import require


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
                f"{user.get_username()} is no member of {workspace.slug}.",
                remedy=Remedy("members.list_members"),
            )
        keep_an_admin(workspace, present)
        present.delete()
        keys = ApiKey.objects.filter(workspace=workspace, user=user)
        ended = revoke_api_keys(keys.values_list("pk", flat=True), by=by)
        record(
            by,
            "member.remove",
            workspace=workspace,
            target=f"user:{user.pk}",
            label=user.get_username(),
            details={"role": present.role, "keys_revoked": ended},
        )
