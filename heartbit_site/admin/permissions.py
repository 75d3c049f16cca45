"""Permissions in the admin: a user's workspaces, and the role in each.

A superuser reaches everything. Anybody else needs a membership; Django's own permissions open
nothing here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpRequest

from heartbit_site.base.access import ROLE_SCOPES, visible_to
from heartbit_site.base.models import Membership

M = TypeVar("M", bound=Model)

#: What only superusers may: workers, users, and all that belongs to no workspace.
INSTALLATION = "installation"


def rights(view: str, edit: str, **actions: str) -> dict[str, str]:
    """Return the ``needs`` of a page: the scope to view, to add, change and delete, and to act."""
    return {"view": view, "add": edit, "change": edit, "delete": edit, **actions}


@dataclass(frozen=True, slots=True)
class AdminPermissions:
    """Rights of a signed-in user in each workspace.

    Attributes:
        user: Django's.
        everywhere: A superuser.
        scopes: By workspace id, what their role there allows.
    """

    user: Any
    everywhere: bool
    scopes: Mapping[int, frozenset[str]]

    def allows(self, scope: str, workspace_id: int | None = None) -> bool:
        """Return True if the user has ``scope`` in that workspace; None: in some workspace."""
        if self.everywhere:
            return True
        if workspace_id is not None:
            return scope in self.scopes.get(workspace_id, frozenset())
        return any(scope in scopes for scopes in self.scopes.values())

    def allows_wherever(self, seen: str, scope: str) -> bool:
        """Return True if the user has ``scope`` in every workspace where they have ``seen``."""
        held = [scopes for scopes in self.scopes.values() if seen in scopes]
        return self.everywhere or all(scope in scopes for scopes in held)

    def rows(self, rows: QuerySet[M], path: str | None, scope: str) -> QuerySet[M]:
        """Return the rows of the workspaces in which the user has a scope.

        Args:
            rows: Any.
            path: The field that leads to the workspace; None: the rows are the installation's.
            scope: A name of ``SCOPES``, or ``INSTALLATION``.
        """
        if self.everywhere:
            return rows
        allowed = [pk for pk, scopes in self.scopes.items() if scope in scopes]
        if path is None or not allowed:
            return rows.none()
        rows = visible_to(rows, self.user, path=path)
        return rows if len(allowed) == len(self.scopes) else rows.filter(**{f"{path}__in": allowed})


def permissions_for(request: HttpRequest) -> AdminPermissions:
    """Return the rights of the request's user, read once per request."""
    known: AdminPermissions | None = getattr(request, "heartbit_reach", None)
    if known is None or known.user is not request.user:
        known = _read(request.user)
        request.heartbit_reach = known  # type: ignore[attr-defined]
    return known


def _read(user: Any) -> AdminPermissions:
    everywhere = bool(user.is_active and user.is_superuser)
    scopes: dict[int, frozenset[str]] = {}
    if user.is_active and not everywhere:
        roles = Membership.objects.filter(user_id=user.pk).order_by()
        found = roles.values_list("workspace_id", "role")
        scopes = {pk: ROLE_SCOPES[role] for pk, role in found}
    return AdminPermissions(user, everywhere=everywhere, scopes=scopes)
