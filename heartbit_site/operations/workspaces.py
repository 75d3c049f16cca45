"""Workspaces: the settings of the caller's, and those of the installation."""

from __future__ import annotations

from typing import Any

from heartbit_site.base.access import Access
from heartbit_site.base.actions.workspaces import save_workspace
from heartbit_site.base.audit import actor_of
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.models import Tier, Workspace
from heartbit_site.contract.model import USUAL, Cursor, Limit
from heartbit_site.contract.workspaces import (
    WorkspaceChangeIn,
    WorkspaceDetailOut,
    WorkspaceIn,
    WorkspaceListOut,
)
from heartbit_site.operations.paging import list_page


def list_all_workspaces(
    access: Access, *, cursor: Cursor = None, limit: Limit = USUAL
) -> WorkspaceListOut:
    """Return every workspace of the installation by short name."""
    rows = Workspace.objects.select_related("tier")
    return list_page(WorkspaceListOut, rows, "slug", cursor, limit)


def create_workspace(access: Access, body: WorkspaceIn) -> WorkspaceDetailOut:
    """Create an empty workspace; POST /members there adds people, once one has a key to it."""
    given = body.model_dump()
    row = Workspace(**{**given, "name": body.name or body.slug, "tier": _tier(body.tier)})
    return _saved(access, row)


def show_workspace(access: Access) -> WorkspaceDetailOut:
    """Return the caller's workspace and its settings."""
    return WorkspaceDetailOut.of(access.workspace)


def change_workspace(access: Access, body: WorkspaceChangeIn) -> WorkspaceDetailOut:
    """Change the given settings of the caller's workspace; only an operator changes the tier."""
    row = Workspace.objects.get(pk=access.workspace.pk)
    given: dict[str, Any] = body.model_dump(exclude_unset=True)
    if "tier" in given:
        given["tier"] = _tier(body.tier)
    for name, value in given.items():
        setattr(row, name, value)
    return _saved(access, row)


def _saved(access: Access, row: Workspace) -> WorkspaceDetailOut:
    save_workspace(row, by=actor_of(access))
    return WorkspaceDetailOut.of(row)


def _tier(name: str | None) -> Tier | None:
    if not name:
        return None
    tier = Tier.objects.filter(name=name).first()
    if tier is None:
        names = ", ".join(Tier.objects.values_list("name", flat=True)) or "none yet"
        raise ConfigurationError(f"There is no tier {name[:40]!r}: there are {names}.")
    return tier
