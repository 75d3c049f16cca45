"""Access rights: the one place that turns people and API keys into rights.

A right is a scope (``base.scopes.SCOPES``): keys name theirs, a member's follow from the role.
Everything that is read or written for a caller goes through their ``Access`` and its workspace.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, TypeVar

from django.conf import settings
from django.contrib.auth import get_user, get_user_model
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from heartbit_site.base.errors import NotFoundError
from heartbit_site.base.models.api_key import ApiKey
from heartbit_site.base.models.membership import Membership, Role
from heartbit_site.base.models.workspace import Workspace
from heartbit_site.base.scopes import SCOPES

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
#: Scope that opens the admin, if the person's role has it in any workspace.
ADMIN_SCOPE = "agents:write"


class NoWorkspaceError(NotFoundError):
    """The workspace does not exist, or the caller does not belong to it.

    The message does not say which: it would reveal the names of other tenants.
    """


@dataclass(frozen=True, slots=True)
class Access:
    """A caller in one workspace.

    Attributes:
        workspace: The workspace; everything the caller reaches is in it.
        name: The caller's name in the journal, decisions and the audit.
        via: A person's session, a program's key, a command on this machine (``terminal``), or a
            command that asks while it shows a run (``inline``).
        scopes: Scopes that the caller has.
        user_id: The person, or the owner of the key; None for a key that a command created.
        key_id: The key, if the caller is one.
    """

    workspace: Workspace
    name: str
    via: Literal["web", "api", "terminal", "inline"]
    scopes: frozenset[str]
    user_id: int | None
    key_id: int | None = None

    def allows(self, scope: str) -> bool:
        """Return True if the caller has a scope."""
        return scope in self.scopes


def access_of_key(key: ApiKey) -> Access:
    """Return the access of a key: never more than its owner has now."""
    person = f" of {key.user.get_username()}" if key.user is not None else ""
    granted = frozenset(SCOPES) if key.user is None else _scopes_of(key.workspace, key.user)
    return Access(
        workspace=key.workspace,
        name=f"API key {key.name}{person}"[:200],
        via="api",
        scopes=frozenset(key.scopes) & (granted or frozenset()),
        user_id=key.user_id,
        key_id=key.pk,
    )


def _scopes_of(workspace: Workspace, user: Any) -> frozenset[str] | None:
    """Return a person's scopes; None for one who does not belong to the workspace."""
    if user.is_superuser:
        return frozenset(SCOPES)
    return ROLE_SCOPES.get(role_of(workspace, user.pk) or "")


def role_of(workspace: Workspace, user_id: int | None) -> str | None:
    """Return the role of a member; None for other users and for a key that a command created."""
    if user_id is None:
        return None
    members = Membership.objects.filter(workspace=workspace, user_id=user_id)
    return members.values_list("role", flat=True).first()


def access_of_user(user: Any, slug: str) -> Access:
    """Return a person's access to a workspace.

    Args:
        user: Django's user; an anonymous one belongs to no workspace.
        slug: The workspace's short name.

    Raises:
        NoWorkspaceError: The workspace does not exist, or the person does not belong to it.
    """
    workspace = Workspace.objects.filter(slug=slug).first() if user.is_active else None
    scopes = _scopes_of(workspace, user) if workspace is not None else None
    if workspace is None or scopes is None:
        raise NoWorkspaceError(f"There is no workspace {slug[:50]} that you belong to.")
    return Access(workspace, user.get_username(), "web", scopes, user.pk)


def refresh_access(access: Access) -> Access | None:
    """Return the caller's access as it is now; None if it was revoked.

    For long streams: keys are revoked, members leave and change roles.
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
    """Return True for a superuser and for a key that a command created.

    Only such a caller may use the operators' scope.
    """
    if access.user_id is None:
        return True
    users = get_user_model().objects.filter(pk=access.user_id, is_active=True)
    return users.filter(is_superuser=True).exists()


def username_of(access: Access) -> str | None:
    """Return the person's name; None for a key that a command created."""
    if access.user_id is None:
        return None
    people = get_user_model().objects.filter(pk=access.user_id)
    return people.values_list("username", flat=True).first()


def enters_admin(user: Any) -> bool:
    """Return True if a person may open the admin; their roles decide what they see there.

    Roles are read on each call: a member who is removed or loses the role is locked out from the
    next request on.
    """
    if not user.is_active:
        return False
    if user.is_superuser or user.is_staff:
        return True
    roles = roles_with(ADMIN_SCOPE)
    return Membership.objects.filter(user_id=user.pk, role__in=roles).exists()


def workspaces_of(user: Any) -> QuerySet[Workspace]:
    """Return the workspaces that a person belongs to, by name; a superuser belongs to all."""
    if not user.is_active:
        return Workspace.objects.none()
    if user.is_superuser:
        return Workspace.objects.order_by("name")
    return Workspace.objects.filter(memberships__user_id=user.pk).order_by("name")


def visible_to(rows: QuerySet[M], user: Any, *, path: str = "workspace") -> QuerySet[M]:
    """Return the rows of the workspaces that a person belongs to.

    Args:
        rows: Rows of any model that leads to a workspace.
        user: Django's user.
        path: The field that leads to the workspace, e.g. ``run__workspace``.
    """
    if user.is_active and user.is_superuser:
        return rows
    return rows.filter(**{f"{path}__in": workspaces_of(user)})


def members_with(workspace: Workspace, scope: str) -> Iterable[int]:
    """Return the user ids of the workspace's active members whose role has a scope."""
    members = Membership.objects.filter(workspace=workspace, user__is_active=True)
    found = members.filter(role__in=roles_with(scope))
    return list(found.values_list("user_id", flat=True))


def roles_with(scope: str) -> list[str]:
    """Return the roles that have a scope, the least first."""
    return [str(role) for role, scopes in ROLE_SCOPES.items() if scope in scopes]


def is_session_valid(session_key: str | None, user_id: int | None) -> bool:
    """Return True while a session belongs to its user, and the user's password is unchanged.

    Args:
        session_key: The session's key; None if there is no session.
        user_id: The user that the session belonged to; None for an anonymous one.
    """
    if session_key is None or user_id is None:
        return False
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    found: int | None = get_user(request).pk
    return found == user_id
