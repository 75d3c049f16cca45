"""Who asks, and what they may do: the one place where people and keys become rights.

A right is a scope (``base.scopes.SCOPES``): keys name theirs, a member's follow from the role.
Everything that is read or written for somebody goes through their ``Access`` and its workspace.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from django.contrib.auth import get_user_model
from django.db.models import Model

from heartbit_site.base.errors import NotFoundError
from heartbit_site.base.models.api_key import ApiKey
from heartbit_site.base.models.membership import Membership, Role
from heartbit_site.base.models.workspace import Workspace
from heartbit_site.base.scopes import SCOPES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.db.models import QuerySet

M = TypeVar("M", bound=Model)

_READ = {"runs:read", "agents:read"}
_OPERATE = _READ | {"runs:write", "approvals:decide"}
_EDIT = _OPERATE | {"agents:write"}
_ADMINISTER = _EDIT | {"workspace:manage", "audit:read"}
ROLE_SCOPES: dict[str, frozenset[str]] = {
    Role.VIEWER: frozenset(_READ),
    Role.OPERATOR: frozenset(_OPERATE),
    Role.EDITOR: frozenset(_EDIT),
    Role.ADMIN: frozenset(_ADMINISTER),
}
#: The scope that opens the admin: held in some workspace, by its role.
ADMIN_SCOPE = "agents:write"


class NoWorkspaceError(NotFoundError):
    """There is no such workspace for whoever asks; which of the two it is stays unsaid."""


@dataclass(frozen=True, slots=True)
class Access:
    """Somebody in one workspace.

    Attributes:
        workspace: Where; everything they reach is in it.
        name: Who, as the journal, decisions and the audit name them.
        via: A person's session, a program's key, or a command on this machine: one that was
            started for it, or one that asks while it shows a run (``inline``).
        scopes: What they may do.
        user_id: The person, or whose key it is; None: a key that a command made.
        key_id: The key, if it is one.
    """

    workspace: Workspace
    name: str
    via: Literal["web", "api", "terminal", "inline"]
    scopes: frozenset[str]
    user_id: int | None
    key_id: int | None = None

    def allows(self, scope: str) -> bool:
        """Whether they may do what ``scope`` names."""
        return scope in self.scopes


def access_of_key(key: ApiKey) -> Access:
    """What a key opens: never more than whoever made it may do by now."""
    person = f" of {key.user.get_username()}" if key.user is not None else ""
    return Access(
        workspace=key.workspace,
        name=f"API key {key.name}{person}"[:200],
        via="api",
        scopes=frozenset(key.scopes) & _most(key),
        user_id=key.user_id,
        key_id=key.pk,
    )


def _most(key: ApiKey) -> frozenset[str]:
    if key.user is None or key.user.is_superuser:
        return frozenset(SCOPES)
    return _of_member(key.workspace, key.user) or frozenset()


def _of_member(workspace: Workspace, user: Any) -> frozenset[str] | None:
    member = Membership.objects.filter(workspace=workspace, user_id=user.pk).first()
    return ROLE_SCOPES[member.role] if member is not None else None


def access_of_user(user: Any, slug: str) -> Access:
    """What a person may do in a workspace.

    Args:
        user: Django's, signed in; anybody else belongs nowhere.
        slug: The workspace's short name.

    Raises:
        NoWorkspaceError: They do not belong to it, or there is none.
    """
    workspace = Workspace.objects.filter(slug=slug).first() if user.is_active else None
    scopes: frozenset[str] | None = None
    if workspace is not None and user.is_superuser:
        scopes = frozenset(SCOPES)
    elif workspace is not None:
        scopes = _of_member(workspace, user)
    if workspace is None or scopes is None:
        raise NoWorkspaceError(f"There is no workspace {slug[:50]} that you belong to.")
    return Access(workspace, user.get_username(), "web", scopes, user.pk)


def refresh_access(access: Access) -> Access | None:
    """What somebody who was let in may do by now; None: nothing any more.

    Long streams ask now and then: keys are revoked, members leave and change roles.
    """
    if access.key_id is not None:
        keys = ApiKey.objects.select_related("workspace", "user")
        key = keys.filter(pk=access.key_id).first()
        return access_of_key(key) if key is not None and key.usable else None
    people = get_user_model().objects
    user = people.filter(pk=access.user_id).first() if access.user_id is not None else None
    if user is None:
        return None
    try:
        return access_of_user(user, access.workspace.slug)
    except NoWorkspaceError:
        return None


def is_operator(access: Access) -> bool:
    """Whether somebody with the operators' scope is one: a superuser, or the command line's key."""
    if access.user_id is None:
        return True
    users = get_user_model().objects.filter(pk=access.user_id, is_active=True)
    return users.filter(is_superuser=True).exists()


def username_of(access: Access) -> str | None:
    """The person's name; None: a key that a command made."""
    if access.user_id is None:
        return None
    people = get_user_model().objects.filter(pk=access.user_id)
    return people.values_list("username", flat=True).first()


def enters_admin(user: Any) -> bool:
    """Return True if a person may open the admin; what they see there follows from their roles.

    Read anew on each call: a member who is removed or loses the role is out with the next request.
    """
    if not user.is_active:
        return False
    if user.is_superuser or user.is_staff:
        return True
    roles = roles_with(ADMIN_SCOPE)
    return Membership.objects.filter(user_id=user.pk, role__in=roles).exists()


def workspaces_of(user: Any) -> QuerySet[Workspace]:
    """The workspaces that a person belongs to, by name; a superuser to all."""
    if not user.is_active:
        return Workspace.objects.none()
    if user.is_superuser:
        return Workspace.objects.order_by("name")
    return Workspace.objects.filter(memberships__user_id=user.pk).order_by("name")


def visible_to(rows: QuerySet[M], user: Any, *, path: str = "workspace") -> QuerySet[M]:
    """The rows of the workspaces that a person belongs to.

    Args:
        rows: Any.
        user: Django's.
        path: The field that leads to the workspace, e.g. ``run__workspace``.
    """
    if user.is_active and user.is_superuser:
        return rows
    return rows.filter(**{f"{path}__in": workspaces_of(user)})


def members_with(workspace: Workspace, scope: str) -> Iterable[int]:
    """The ids of the workspace's members whose role has a scope."""
    members = Membership.objects.filter(workspace=workspace, user__is_active=True)
    found = members.filter(role__in=roles_with(scope))
    return list(found.values_list("user_id", flat=True))


def roles_with(scope: str) -> list[str]:
    """The roles that have a scope."""
    return [str(role) for role, scopes in ROLE_SCOPES.items() if scope in scopes]
