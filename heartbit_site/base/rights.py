"""Rights of actors, and sentences for a person without one: the role it takes, and who can help.

An action checks the rights itself, whichever interface called it. Programs read an error's code and
scope; people read these sentences, which name no scope.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from django.core.exceptions import PermissionDenied

from heartbit_site.base.access import ADMIN_SCOPE, Access, NoWorkspaceError, role_of, roles_with
from heartbit_site.base.errors import ForbiddenError
from heartbit_site.base.models.membership import Membership, Role
from heartbit_site.base.models.workspace import Workspace

if TYPE_CHECKING:
    from heartbit_site.base.audit import Actor

MOST_NAMED = 3
MOST_WORKSPACES = 5
INSTALLATION_ADMINS = "the administrators of this installation"
ONLY_INSTALLATION = f"Only {INSTALLATION_ADMINS} can do this."


class RefusedError(PermissionDenied):
    """The user may not open a page; the message says why, and who can help."""


def describe_refusal(access: Access, scope: str) -> str:
    """Say which role a scope takes, and who can give it to the member."""
    takes = roles_with(scope)
    if not takes:
        return ONLY_INSTALLATION
    role = role_of(access.workspace, access.user_id)
    yours = f"; yours is {role}" if role else ""
    where = f"{access.workspace.name}{yours}"
    return f"{_takes(takes)} in {where}. {describe_admins(access.workspace)}"


def describe_closed_admin(user: Any) -> str:
    """Say why a person may not enter the admin, and who can change that."""
    takes = _takes(roles_with(ADMIN_SCOPE), what="The admin")
    return f"{takes} in a workspace. {_describe_roles(user)}"


def describe_closed_page(user: Any, scope: str | None) -> str:
    """Say why a user of the admin may not open a page or do something there.

    Args:
        user: Django's user.
        scope: Scope that the page needs; None if the user has it and the action needs more.
    """
    if scope is None:
        return f"This needs another role. {_describe_roles(user)}"
    takes = roles_with(scope)
    return f"{_takes(takes)}. {_describe_roles(user)}" if takes else ONLY_INSTALLATION


def describe_admins(workspace: Workspace) -> str:
    """Name the people who can give a member of the workspace another role."""
    names = people_by_role(workspace)[Role.ADMIN]
    if not names:
        return f"{workspace.name} has no admin: ask {INSTALLATION_ADMINS}."
    return f"Ask an admin of {workspace.name}: {listed(names)}."


def people_by_role(workspace: Workspace) -> defaultdict[str, list[str]]:
    """Return the user names of the active members with each role, sorted."""
    members = Membership.objects.filter(workspace=workspace, user__is_active=True)
    found: defaultdict[str, list[str]] = defaultdict(list)
    for role, name in members.order_by("user__username").values_list("role", "user__username"):
        found[role].append(name)
    return found


def people_with(workspace: Workspace, scopes: Iterable[str]) -> dict[str, str]:
    """Return, for each scope, the members who have it as a phrase: ``ada, ben and 2 more``."""
    people = people_by_role(workspace)
    found = {}
    for scope in scopes:
        names = sorted(name for role in roles_with(scope) for name in people[role])
        found[scope] = listed(names) if names else INSTALLATION_ADMINS
    return found


def listed(names: Sequence[str]) -> str:
    """Return the first names and how many more there are, as a phrase."""
    if len(names) > MOST_NAMED:
        return f"{', '.join(names[:MOST_NAMED])} and {len(names) - MOST_NAMED} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _describe_roles(user: Any) -> str:
    """Say which roles a user has, and who can change that."""
    memberships = Membership.objects.filter(user_id=user.pk).select_related("workspace")
    found = list(memberships.order_by("workspace__name")[:MOST_WORKSPACES])
    if not found:
        return f"You belong to no workspace: ask an admin of one, or {INSTALLATION_ADMINS}."
    yours = listed([f"{one.role} in {one.workspace.name}" for one in found])
    return " ".join([f"Your role is {yours}.", *(describe_admins(one.workspace) for one in found)])


def _takes(roles: Sequence[str], *, what: str = "This") -> str:
    """Name the lowest role that is sufficient."""
    least = roles[0] if len(roles) == 1 else f"{roles[0]} or higher"
    return f"{what} needs the role of {least}"


def require(by: Actor, *scopes: str, workspace_id: int | None) -> None:
    """Raise unless an actor may change something.

    An actor without an access passes: Heartbit itself, or a program that owns the database.

    Args:
        by: The actor.
        scopes: Scopes; one of them is sufficient.
        workspace_id: The workspace; None: the installation.

    Raises:
        ForbiddenError: The actor has none of the scopes.
        NoWorkspaceError: The actor's rights are those of another workspace.
    """
    access = by.access
    if access is None:
        return
    if not any(map(access.allows, scopes)):
        raise forbidden(access, scopes[0])
    if workspace_id not in (None, access.workspace.pk):
        raise NoWorkspaceError("The row belongs to another workspace: use access to that one.")


def forbidden(access: Access, scope: str) -> ForbiddenError:
    """Return the refusal: a program reads the scope, a person their role and who can help."""
    if access.via == "api":
        return ForbiddenError(f"The API key does not have the scope {scope}.", scope)
    return ForbiddenError(describe_refusal(access, scope), scope)
